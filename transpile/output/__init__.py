"""Writing a file, or several together, whole or not at all, even when the process is killed."""
