"""Effects of TensorFlow scripts that happen once per job."""
