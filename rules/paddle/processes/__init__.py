"""The parallel environment of a Paddle job."""
