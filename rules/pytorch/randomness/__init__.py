"""Random numbers of PyTorch scripts: which are shared, and which differ by rank."""
