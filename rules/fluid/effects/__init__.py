"""Effects of Fluid scripts that happen once per job, on trainer 0."""
