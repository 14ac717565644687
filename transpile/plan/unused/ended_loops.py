"""Loops over layers that a test may end before they have come to all of them."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.walk import children

Loop = cst.For | cst.While


def loops_around(module: Module, node: cst.CSTNode) -> Iterator[Loop]:
    """The loops of its function that a node stands in, or that go through it."""
    for parent in module.source.parents(node):
        if isinstance(parent, (cst.FunctionDef, cst.Lambda)):
            return
        if isinstance(parent, (cst.For, cst.While)):
            yield parent


def ending(loop: Loop) -> Iterator[tuple[cst.BaseExpression, str]]:
    """The tests that end a loop, or its function, with the arm in which they do."""
    yield from within(loop.body, (), inner=False)


def within(
    node: cst.CSTNode, around: tuple[tuple[cst.BaseExpression, str], ...], inner: bool
) -> Iterator[tuple[cst.BaseExpression, str]]:
    """The tests around the statements of a body that leave the loop.

    Args:
        node: what to look through.
        around: the tests that it stands under, from outside to inside.
        inner: whether it stands in another loop, which a ``break`` ends instead.
    """
    leaves = isinstance(node, cst.Return) or (isinstance(node, cst.Break) and not inner)
    if leaves and around:
        yield around[-1]
    if isinstance(node, (cst.FunctionDef, cst.ClassDef, cst.Lambda)):
        return
    if isinstance(node, cst.If):
        yield from within(node.body, (*around, (node.test, "then")), inner)
        if node.orelse is not None:
            yield from within(node.orelse, (*around, (node.test, "else")), inner)
        return
    deeper = inner or isinstance(node, (cst.For, cst.While))
    for child in children(node):
        yield from within(child, around, deeper)
