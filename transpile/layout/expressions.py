"""Edits of expressions."""

from __future__ import annotations

import libcst

from transpile.edit import Edit, Replace, wrap
from transpile.source import Source


def wrap_expression(
    source: Source, node: libcst.BaseExpression, before: str, after: str, order: int = 0
) -> tuple[Edit, ...]:
    """Put text on both sides of an expression, inside the parentheses it may stand in.

    Args:
        source: the script.
        node: the expression.
        before: the opener, for example ``DistributedDataParallel(``.
        after: the closer.
        order: which of two wraps of one expression stands outside: the smaller.
    """
    return wrap(source.span(node), before, after, order)


def replace_expression(source: Source, node: libcst.CSTNode, text: str) -> tuple[Edit, ...]:
    """Put other text in the place of an expression; its own parentheses stay.

    Args:
        source: the script.
        node: the expression, or any other node that is not empty.
        text: the new code.
    """
    return (Replace(source.span(node), text.replace("\n", source.newline)),)
