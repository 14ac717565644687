"""Expressions: literals, operators, containers, and what is taken out of something."""
