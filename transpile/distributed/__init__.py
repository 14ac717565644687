"""Whether a script is distributed already, told from the names that it comes to alone."""
