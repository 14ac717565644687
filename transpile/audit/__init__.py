"""Hang and divergence analysis: what the processes of one distributed script do differently."""
