"""Parameters that a backward pass may not reach."""
