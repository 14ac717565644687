"""Which names stand in a piece of code, and what they do there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

#: Nodes with names of their own.
INNER_SCOPES = (cst.FunctionDef, cst.ClassDef, cst.Lambda, cst.GeneratorExp)
COMPREHENSIONS = (cst.ListComp, cst.SetComp, cst.DictComp)


def walk(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A node and all below it."""
    yield node
    for child in node.children:
        yield from walk(child)


def names_read(node: cst.CSTNode) -> list[str]:
    """The names that an expression reads, in their order, each once."""
    found: dict[str, None] = {}
    _read(node, found)
    return list(found)


def bound(nodes: Sequence[cst.CSTNode]) -> set[str]:
    """The names that are assigned, looped over, or bound by `with` or `:=` in this scope."""
    found: set[str] = set()
    for node in nodes:
        _bound(node, found)
    return found


def bound_within(node: cst.CSTNode) -> set[str]:
    """The names that scopes inside of a node bind, and those that are bound in other ways."""
    found: set[str] = set()
    for inner in walk(node):
        if isinstance(inner, cst.Param):
            found.add(inner.name.value)
        elif isinstance(inner, cst.FunctionDef | cst.ClassDef):
            found.add(inner.name.value)
            found |= bound([inner.body])
        elif isinstance(inner, cst.CompFor):
            found |= _targets(inner.target)
        elif isinstance(inner, cst.NameItem):
            found.add(inner.name.value)
        elif isinstance(inner, cst.ImportAlias | cst.AsName | cst.Del | cst.Match):
            found |= {name.value for name in walk(inner) if isinstance(name, cst.Name)}
    return found


def _read(node: cst.CSTNode, found: dict[str, None]) -> None:
    if isinstance(node, cst.Name):
        found[node.value] = None
    elif isinstance(node, cst.Attribute):
        _read(node.value, found)
    elif isinstance(node, cst.Arg):
        _read(node.value, found)
    else:
        for child in node.children:
            _read(child, found)


def _bound(node: cst.CSTNode, found: set[str]) -> None:
    if isinstance(node, (*INNER_SCOPES, *COMPREHENSIONS)):
        return
    if isinstance(node, cst.AssignTarget | cst.AnnAssign | cst.AugAssign | cst.For):
        found |= _targets(node.target)
    elif isinstance(node, cst.NamedExpr):
        found |= _targets(node.target)
    elif isinstance(node, cst.WithItem) and node.asname is not None:
        found |= _targets(node.asname.name)
    for child in node.children:
        _bound(child, found)


def _targets(node: cst.CSTNode) -> set[str]:
    if isinstance(node, cst.Name):
        return {node.value}
    if isinstance(node, cst.Tuple | cst.List):
        return set().union(*(_targets(element.value) for element in node.elements))
    return set()
