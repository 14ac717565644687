"""The size of a batch: where a script says it, what reads it, what else is as large."""
