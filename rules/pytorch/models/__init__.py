"""Models of PyTorch scripts: wrapped, unwrapped, split by calls, sharded."""
