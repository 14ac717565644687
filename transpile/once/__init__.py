"""Effects once per job: what decides and edits whatever the framework; findings get its prefix."""
