"""Code of the script that is given gradients within a backward pass."""
