"""Effects of Paddle scripts that happen once per job, on rank 0."""
