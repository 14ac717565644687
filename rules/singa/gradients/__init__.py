"""Losses, gradients and the optimizer that all processes share."""
