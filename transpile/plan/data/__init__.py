"""Where batches come from, how large they are, and what follows their size."""
