"""Where the process starts, what runs where, and on which ranks."""
