"""Training data of MXNet scripts: each worker trains on its share of every batch."""
