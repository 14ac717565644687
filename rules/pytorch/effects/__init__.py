"""Effects of PyTorch scripts that happen once per job, on rank 0."""
