"""Slices of a container of layers: whether those that a forward pass takes leave some out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.walk import descendants

#: Where a container begins, as the bound of a slice.
BEGINNING = ""


def leave_some(
    taken: Iterable[tuple[Module, cst.Subscript]],
    falls_short: Callable[[cst.CSTNode, set[str]], bool],
) -> bool:
    """Whether slices of a container, and the places beside them, may not reach all of it.

    ``layers[:n]`` alone does not, ``layers[:n]`` and ``layers[n:]`` do, and so do ``layers[0]``
    and ``layers[1:]``. What a loop moves along is left to the loop.

    Args:
        taken: all subscripts of the container in the methods of its owner, and their modules.
        falls_short: whether a loop, by names that it moves along, may not come to all layers.
    """
    steps: dict[str, set[str | None]] = {}
    sliced = False
    for module, node in taken:
        part = node.slice[0].slice
        loops = list(moved_by_loops(module, node))
        if loops:
            if not any(falls_short(loop, names_in(node.slice[0])) for loop in loops):
                return False
            sliced = True
            continue
        if isinstance(part, cst.Slice):
            lower, upper = bound(module, part.lower), bound(module, part.upper)
            if part.step is not None and not (lower or upper):
                step = module.source.code(part.step).strip()
                if step in ("1", "-1"):
                    return False
            sliced = True
            steps.setdefault(lower or BEGINNING, set()).add(upper or None)
        elif isinstance(part, cst.Index):
            place = module.source.code(part.value).strip()
            behind: str | None = str(int(place) + 1) if place.isdecimal() else f"{place} + 1"
            if place == "-1":
                behind = None
            steps.setdefault(BEGINNING if place == "0" else place, set()).add(behind)
    return sliced and not reaches_the_end(steps)


def bound(module: Module, node: cst.BaseExpression | None) -> str:
    """The text of a bound; empty where a slice goes on to that end."""
    text = module.source.code(node).strip() if node is not None else ""
    return "" if text in ("0", "None") else text


def reaches_the_end(steps: dict[str, set[str | None]]) -> bool:
    """Whether slices one behind the other lead from the beginning to the end."""
    pending, seen = [BEGINNING], set[str]()
    while pending:
        at = pending.pop()
        if at in seen:
            continue
        seen.add(at)
        for behind in steps.get(at, ()):
            if behind is None:
                return True
            pending.append(behind)
    return False


def moved_by_loops(module: Module, node: cst.Subscript) -> Iterator[cst.CSTNode]:
    """The loops around a subscript that move it along."""
    names = names_in(node.slice[0])
    for parent in module.source.parents(node):
        if isinstance(parent, (cst.FunctionDef, cst.Lambda)):
            return
        if isinstance(parent, cst.While):
            yield parent
        clause = parent.for_in if isinstance(parent, cst.BaseComp) else None
        if isinstance(parent, cst.For) and names & names_in(parent.target):
            yield parent
        while clause is not None:
            if names & names_in(clause.target):
                yield clause
            clause = clause.inner_for_in


def names_in(node: cst.CSTNode) -> set[str]:
    """The names in an expression or a target."""
    return {inner.value for inner in descendants(node) if isinstance(inner, cst.Name)}
