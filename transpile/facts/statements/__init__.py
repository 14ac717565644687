"""Statements: what they run, define, import and bind."""
