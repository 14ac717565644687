"""Launch targets that are shell scripts."""
