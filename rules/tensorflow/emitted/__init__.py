"""Helpers that outputs are given, as the Python files that they are: read as text, never imported.

A file holds helpers and nothing else: imports first, then classes and functions, each of which is
written into an output where it is asked for, with those that it uses.
"""
