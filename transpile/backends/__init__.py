"""Rules that frameworks have in common: one body each, over what a backend does."""
