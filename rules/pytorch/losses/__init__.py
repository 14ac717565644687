"""Losses and reported numbers of PyTorch scripts, made those of the global batch."""
