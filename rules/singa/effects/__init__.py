"""Effects of SINGA scripts that happen once per job, on one process."""
