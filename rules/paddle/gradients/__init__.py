"""Gradients of Paddle scripts, their optimizers and learning rates."""
