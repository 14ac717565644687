"""Gradients of PyTorch scripts, and the learning rates that they meet."""
