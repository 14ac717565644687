"""How the workers of a TensorFlow script find each other."""
