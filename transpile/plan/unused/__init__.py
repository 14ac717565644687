"""Parts of a model that a training step may do without."""
