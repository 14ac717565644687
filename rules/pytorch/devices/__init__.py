"""Devices of PyTorch scripts: each rank uses its own GPU."""
