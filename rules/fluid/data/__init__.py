"""Training data of Fluid scripts: each trainer is fed its share of every batch."""
