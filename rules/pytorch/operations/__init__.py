"""What PyTorch's operations and layers do along the axes of a tensor: tables, by subject."""
