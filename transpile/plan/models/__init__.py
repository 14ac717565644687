"""Models, what they are wrapped in, and what reaches into them."""
