"""Learning rates of larger batches."""
