"""Along which axis tensors count the samples, and what leaves, moves or crosses it."""
