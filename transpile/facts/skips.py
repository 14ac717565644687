"""Branches that only pass over what would change nothing: ``if chosen.any():``."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from transpile.facts.walk import descendants
from transpile.text.source import Source


def skips_nothing(source: Source, node: cst.If) -> bool:
    """Whether a branch is left out only where nothing is chosen, and writes what is chosen alone.

    Whatever the samples of one process are, what it leaves is what it would have written.
    """
    if node.orelse is not None:
        return False
    body = node.body.body
    chosen = chosen_by(node.test)
    if chosen:
        return writes_only(source, node, body, chosen)
    if not (isinstance(node.test, cst.UnaryOperation) and isinstance(node.test.operator, cst.Not)):
        return False
    chosen = chosen_by(node.test.expression)
    line = body[0] if len(body) == 1 else None
    inner = line.body if isinstance(line, cst.SimpleStatementLine) else body
    if not chosen or len(inner) != 1 or not isinstance(inner[0], cst.Continue):
        return False
    block = source.parent(node)
    loop = source.parent(block) if block is not None else None
    if not isinstance(block, cst.IndentedBlock) or not isinstance(loop, (cst.For, cst.While)):
        return False
    place = next(at for at, one in enumerate(block.body) if one is node)
    return writes_only(source, loop, block.body[place + 1 :], chosen)


def chosen_by(test: cst.BaseExpression) -> str:
    """The name of the mask of which a test asks whether it chooses anything; empty for others."""
    if isinstance(test, cst.Comparison):
        only = test.comparisons[0] if len(test.comparisons) == 1 else None
        if only is None or not isinstance(only.operator, cst.GreaterThan):
            return ""
        zero = isinstance(only.comparator, cst.Integer) and only.comparator.value == "0"
        return called_on(test.left, ("sum", "numel")) if zero else ""
    return called_on(test, ("any",))


def called_on(node: cst.BaseExpression, words: tuple[str, ...]) -> str:
    """The name that a method, or a function of the framework, is called on without more."""
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        return ""
    if node.func.attr.value not in words:
        return ""
    given = [node.func.value, *(arg.value for arg in node.args)]
    names = [one.value for one in given if isinstance(one, cst.Name)]
    if not node.args:
        return names[0] if names else ""
    is_function = len(node.args) == 1 and len(names) == 2
    return names[1] if is_function else ""


def writes_only(
    source: Source, around: cst.CSTNode, body: Sequence[cst.CSTNode], chosen: str
) -> bool:
    """Whether statements do nothing but write what is chosen, and name what they need for it."""
    named: set[str] = set()
    wrote = False
    for line in body:
        smalls = line.body if isinstance(line, cst.SimpleStatementLine) else [line]
        for small in smalls:
            target = target_of(small)
            if isinstance(target, cst.Name) and target.value != chosen:
                named.add(target.value)
            elif isinstance(target, cst.Subscript) and is_by(target, chosen):
                wrote = True
            else:
                return False
    within = {id(node) for line in body for node in descendants(line)}
    outside = (
        node
        for node in descendants(function_around(source, around))
        if isinstance(node, cst.Name) and node.value in named and id(node) not in within
    )
    return wrote and next(outside, None) is None


def target_of(small: cst.CSTNode) -> cst.BaseExpression | None:
    """What a statement assigns to, where that is one thing."""
    if isinstance(small, cst.AugAssign):
        return small.target
    if isinstance(small, cst.Assign) and len(small.targets) == 1:
        return small.targets[0].target
    return None


def is_by(target: cst.Subscript, chosen: str) -> bool:
    """Whether the first index of a target is the mask."""
    first = target.slice[0].slice
    return isinstance(first, cst.Index) and (
        isinstance(first.value, cst.Name) and first.value.value == chosen
    )


def function_around(source: Source, node: cst.CSTNode) -> cst.CSTNode:
    """The function that a node is part of, or the module."""
    for outer in source.parents(node):
        if isinstance(outer, cst.FunctionDef):
            return outer
    return source.tree
