"""Effects of MXNet scripts that happen once per job, on one worker."""
