"""Training data of Paddle scripts: each rank draws its share of every batch."""
