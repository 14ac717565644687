"""The process group of a PyTorch job."""
