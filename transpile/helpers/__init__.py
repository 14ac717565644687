"""Helper functions of outputs: read from real files, written as text, shared by modules."""
