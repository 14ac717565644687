"""Gradients of MXNet scripts, the batch they are divided by, and learning rates."""
