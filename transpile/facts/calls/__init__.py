"""Calls: of the builtins, of the methods of containers, of the project, and out of it."""
