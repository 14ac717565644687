"""Which edits of a text may stand together: disjoint ones, and those that nest properly."""

from __future__ import annotations

from bisect import bisect_right

from transpile.text.changes import (
    EditConflict,
    Indent,
    Insert,
    Move,
    Replace,
    TextEdit,
)
from transpile.text.span import Span


def nesting_key(edit: TextEdit) -> tuple[int, int, int, int, str]:
    """Sorts containers before what they contain."""
    if isinstance(edit, Insert):
        assert edit.anchor is not None
        return (edit.anchor.start, -edit.anchor.end, 2, edit.order, "")
    start, end = edit.span.start, -edit.span.end
    if isinstance(edit, Indent):
        return (start, end, 1, edit.order, f"{edit.opening}\0{edit.base}\0{edit.indent}")
    if isinstance(edit, Move):
        return (start, end, 0, edit.order, "")
    return (start, end, 3, 0, edit.text)


def check_nesting(edits: list[TextEdit]) -> None:
    """Raise EditConflict unless the edits are disjoint or properly nested."""
    spanned = [
        edit for edit in edits if not isinstance(edit, Insert) or edit.side in ("open", "close")
    ]
    stack: list[tuple[Span, TextEdit]] = []
    for edit in sorted(spanned, key=nesting_key):
        span = edit.anchor if isinstance(edit, Insert) else edit.span
        assert span is not None
        while stack and stack[-1][0].end <= span.start:
            stack.pop()
        if stack:
            outer, holder = stack[-1]
            if isinstance(holder, Replace):
                raise EditConflict(holder, edit, "an edit inside a replaced text")
            if not outer.contains(span):
                raise EditConflict(holder, edit, "edits overlap in part")
            if isinstance(holder, Move) and isinstance(edit, Move) and outer == span:
                if holder != edit:
                    raise EditConflict(holder, edit, "one text moves to two places")
        stack.append((span, edit))
    replaced = sorted((edit for edit in edits if isinstance(edit, Replace)), key=nesting_key)
    starts = [edit.span.start for edit in replaced]
    for edit in edits:
        if isinstance(edit, Insert | Move):
            index = bisect_right(starts, edit.offset - 1) - 1
            if index >= 0 and edit.offset < replaced[index].span.end:
                raise EditConflict(replaced[index], edit, "an insertion inside a replaced text")
