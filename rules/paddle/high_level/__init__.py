"""Training through the high-level interface, paddle.Model."""
