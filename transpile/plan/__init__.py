"""What the script means for training: roles and sites."""
