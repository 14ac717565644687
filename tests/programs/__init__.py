"""Random training programs, and what becomes of them when they are converted."""
