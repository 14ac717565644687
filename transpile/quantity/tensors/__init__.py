"""What functions and methods of tensors give."""
