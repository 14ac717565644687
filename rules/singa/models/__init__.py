"""Parameters and statistics of models."""
