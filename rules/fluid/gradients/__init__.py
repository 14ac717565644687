"""Gradients of Fluid scripts, and the learning rates they meet."""
