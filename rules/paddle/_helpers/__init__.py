"""The helper functions that Paddle conversions insert, by subject."""
