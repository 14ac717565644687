"""What the command takes from the project: its configuration, suppressions and baseline."""
