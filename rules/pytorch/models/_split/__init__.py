"""Which calls of models and of their methods can be split by rows."""
