"""Finding the roles: loaders, models, optimizers and backward passes, by the flow of values."""
