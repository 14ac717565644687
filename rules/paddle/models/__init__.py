"""Models of Paddle scripts: wrapped and unwrapped."""
