"""Edits of expressions."""

from __future__ import annotations

import libcst

from transpile.text.changes import Insert
from transpile.text.edit import Edit, Replace, wrap
from transpile.text.source import Source
from transpile.text.span import Span

_ATOMS = (
    libcst.Name,
    libcst.Attribute,
    libcst.Call,
    libcst.Subscript,
    libcst.BaseNumber,
    libcst.SimpleString,
    libcst.FormattedString,
    libcst.List,
    libcst.Dict,
    libcst.Set,
    libcst.ListComp,
    libcst.DictComp,
    libcst.SetComp,
    libcst.Ellipsis,
)
#: The rank of what stands directly around an expression.
INSIDE = 5
_LOOSER_THAN_ARGUMENTS = (libcst.Tuple, libcst.Yield, libcst.NamedExpr, libcst.GeneratorExp)


def wrap_expression(
    source: Source, node: libcst.BaseExpression, before: str, after: str, order: int = 0
) -> tuple[Edit, ...]:
    """Put text on both sides of an expression, inside the parentheses it may stand in.

    Parentheses are added where the expression would fall apart otherwise: ``a, b`` in a call,
    ``a + b`` in front of an operator.

    Args:
        source: the script.
        node: the expression.
        before: the opener, for example ``DistributedDataParallel(``.
        after: the closer.
        order: which of two wraps of one expression stands outside: the smaller.
    """
    newline = source.newline
    before, after = before.replace("\n", newline), after.replace("\n", newline)
    span = source.span(node)
    if _needs_parentheses(node, before, after):
        if node.lpar:
            span = parenthesised_span(source, node)
        else:
            before, after = before + "(", ")" + after
    return wrap(span, before, after, order)


def multiply_expression(
    source: Source, node: libcst.BaseExpression, factor: str
) -> tuple[Edit, ...]:
    """Multiply a number where it stands, inside of all that is wrapped around it.

    Args:
        source: the script.
        node: the number.
        factor: what it is multiplied by, for example ``get_world_size()``.
    """
    span = source.span(node)
    alone = isinstance(source.parent(node), (libcst.Assign, libcst.Arg, libcst.Element))
    closer = Insert(span.end, f" * {factor}" + ")" * (not alone), INSIDE, "close", span)
    return (closer,) if alone else (Insert(span.start, "(", INSIDE, "open", span), closer)


def replace_expression(source: Source, node: libcst.CSTNode, text: str) -> tuple[Edit, ...]:
    """Put other text in the place of an expression.

    Parentheses around it stay, except those of a tuple, which are part of it.

    Args:
        source: the script.
        node: the expression, or any other node that is not empty.
        text: the new code.
    """
    span = source.span(node)
    if isinstance(node, libcst.Tuple):
        span = parenthesised_span(source, node)
    return (Replace(span, text.replace("\n", source.newline)),)


def parenthesised_span(source: Source, node: libcst.BaseExpression) -> Span:
    """Where an expression stands, its own parentheses included."""
    if not node.lpar:
        return source.span(node)
    return Span(source.span(node.lpar[0]).start, source.span(node.rpar[-1]).end)


def _needs_parentheses(node: libcst.BaseExpression, before: str, after: str) -> bool:
    alone = before.rstrip().endswith("(") and after.lstrip().startswith(")")
    if isinstance(node, libcst.GeneratorExp):
        return not alone
    if isinstance(node, _LOOSER_THAN_ARGUMENTS):
        # A tuple's span leaves out the parentheses that it is written with.
        return True
    if before.rstrip().endswith(("(", "[", "{", ",", "=")) and after.lstrip().startswith(
        (")", "]", "}", ",")
    ):
        return False
    return not isinstance(node, _ATOMS)
