"""Walking a tree past everything that is only layout; several times faster than libcst's own."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

#: Fields that hold layout or punctuation, by the beginning of their names.
LAYOUT = (
    "whitespace", "leading_lines", "lines_after", "trailing", "header", "footer", "lpar", "rpar",
    "comma", "equal", "semicolon", "lbracket", "rbracket", "lbrace", "rbrace", "empty_lines",
    "indent", "dot", "colon", "encoding", "default_", "has_", "first_line", "newline", "relative",
)  # fmt: skip
_FIELDS: dict[type, tuple[str, ...]] = {}
_IS_NODE: dict[type, bool] = {}


def children(node: cst.CSTNode) -> list[cst.CSTNode]:
    """The nodes directly below a node that mean something, in the order of the text."""
    kind = type(node)
    names = _FIELDS.get(kind)
    if names is None:
        fields: tuple[str, ...] = kind.__match_args__
        names = tuple(name for name in fields if not name.startswith(LAYOUT))
        _FIELDS[kind] = names
    found: list[cst.CSTNode] = []
    for name in names:
        value = getattr(node, name)
        value_kind = type(value)
        if value_kind is list or value_kind is tuple:
            for item in value:
                if is_node(type(item)):
                    found.append(item)
        elif value is not None and is_node(value_kind):
            found.append(value)
    return found


def is_node(kind: type) -> bool:
    """Whether a class is one of a tree's nodes."""
    known = _IS_NODE.get(kind)
    if known is None:
        known = _IS_NODE[kind] = issubclass(kind, cst.CSTNode)
    return known


def descendants(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The node and everything below it, each before what it holds."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack += children(current)[::-1]


def returned(function: cst.FunctionDef) -> Iterator[cst.BaseExpression]:
    """What a function returns, without functions inside it."""
    stack: list[cst.CSTNode] = [function.body]
    while stack:
        node = stack.pop()
        if isinstance(node, cst.Return) and node.value is not None:
            yield node.value
        elif not isinstance(node, (cst.FunctionDef, cst.ClassDef, cst.Lambda)):
            stack.extend(children(node))


def is_of_self(node: cst.CSTNode) -> bool:
    """Whether an expression is an attribute of ``self``, or an item of one."""
    while isinstance(node, (cst.Attribute, cst.Subscript)):
        if isinstance(node.value, cst.Name) and node.value.value == "self":
            return True
        node = node.value
    return False
