"""Edits that respect how a script is laid out: what a person, or black, would have written.

Every function takes the source and a node of its tree and returns edits; none prints a statement
anew. Lines are given without newline, relative indentation in steps of four spaces; they come out
in the file's own indentation and newlines.
"""

from transpile.layout.arguments import add_argument, remove_argument, replace_argument_value
from transpile.layout.expressions import (
    multiply_expression,
    replace_expression,
    wrap_expression,
)
from transpile.layout.guards import guard
from transpile.layout.imports import insert_after_imports, insert_import, last_import
from transpile.layout.statements import (
    append_to_body,
    decorate,
    insert_after,
    insert_at_start_of_body,
    insert_before,
    remove_statement,
    remove_statements,
    replace_statement,
)

__all__ = [
    "add_argument",
    "append_to_body",
    "decorate",
    "guard",
    "insert_after",
    "insert_after_imports",
    "insert_at_start_of_body",
    "insert_before",
    "insert_import",
    "last_import",
    "multiply_expression",
    "remove_argument",
    "remove_statement",
    "remove_statements",
    "replace_argument_value",
    "replace_expression",
    "replace_statement",
    "wrap_expression",
]
