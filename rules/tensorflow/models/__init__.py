"""What the workers of a TensorFlow script share: the calls of its models."""
