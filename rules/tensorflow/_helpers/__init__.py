"""The helper functions that TensorFlow conversions insert, by what they are about."""
