"""The programs of a Fluid script, transpiled for the role of each process."""
