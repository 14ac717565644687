"""The store that all workers of an MXNet job share, and what starts from it."""
