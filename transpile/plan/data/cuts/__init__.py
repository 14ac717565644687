"""Batches that a script cuts out of its data by index."""
