"""Training data of PyTorch scripts: each rank draws its share of every batch."""
