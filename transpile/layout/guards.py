"""Edits that put statements under a header of their own."""

from __future__ import annotations

from transpile.layout.lines import (
    Statement,
    is_last,
    split_after,
    split_before,
    statement_indentation,
    statement_span,
)
from transpile.layout.statements import end_of_statement
from transpile.text.edit import Edit, Indent
from transpile.text.source import Source
from transpile.text.span import Span


def guard(
    source: Source,
    first: Statement,
    last: Statement,
    header: str,
    order: int = 0,
) -> tuple[Edit, ...]:
    """Put a run of sibling statements under a header, one level deeper.

    Comments that touch the first statement stay above the header.

    Args:
        source: the script.
        first: the first statement of the run.
        last: its last statement; may be the same.
        header: the header with its colon, for example ``if is_main_process():``.
        order: which of two guards of one run stands outside: the smaller.
    """
    start = statement_span(source, first).start
    final = statement_span(source, last)
    span = Span(start, end_of_statement(source, last) if is_last(source, last) else final.end)
    base = statement_indentation(source, first)
    opening = header + source.newline + base + source.indent
    protected = tuple(place for place in source.multiline_strings if span.contains(place))
    return (
        *split_before(source, first),
        *split_after(source, last),
        Indent(span, source.indent, base, opening, order, protected, final.start),
    )
