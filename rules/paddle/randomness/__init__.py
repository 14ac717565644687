"""Random numbers of Paddle scripts: which are shared, and which differ by rank."""
