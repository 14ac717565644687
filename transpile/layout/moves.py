"""Edits that give a part of a statement a name in a line above it."""

from __future__ import annotations

import libcst

from transpile.layout.lines import (
    Statement,
    is_first,
    split_before,
    statement_indentation,
    statement_span,
)
from transpile.layout.statements import insert_before
from transpile.text.edit import Edit, Insert, Move
from transpile.text.source import Source


def bind_above(
    source: Source,
    statement: Statement,
    node: libcst.BaseExpression,
    name: str,
    order: int = 0,
) -> tuple[Edit, ...]:
    """Move an expression into an assignment above its statement, and put the name in its place.

    Args:
        source: the script.
        statement: the statement; one of several in a line is given a line of its own.
        node: the expression in it.
        name: the new variable.
        order: rank among what is put above the statement; the next two ranks are taken, too.
    """
    span = source.span(node)
    opening, closing, offset = _line_above(source, statement)
    return (
        *split_before(source, statement),
        Insert(offset, f"{opening}{name} = ", order),
        Move(span, offset, order + 1),
        Insert(offset, closing, order + 2),
        Insert(span.start, name),
    )


def header_above(
    source: Source, statement: Statement, header: str, order: int = -1
) -> tuple[Edit, ...]:
    """Put what `bind_above` puts above a statement under a header.

    Args:
        source: the script.
        statement: the statement.
        header: the header with its colon.
        order: a smaller rank than that of what is put there.
    """
    opening, closing, offset = _line_above(source, statement)
    text = f"{opening}{header}{closing}{source.indent}"
    return (*split_before(source, statement), Insert(offset, text, order))


def _line_above(source: Source, statement: Statement) -> tuple[str, str, int]:
    """What begins and what ends a line above a statement, and where it is put."""
    indentation = statement_indentation(source, statement)
    if not is_first(source, statement):
        offset = statement_span(source, statement).start
        return "", source.newline + indentation, offset
    above = insert_before(source, statement, ["pass"])[-1]
    assert isinstance(above, Insert)
    return indentation, source.newline, above.offset
