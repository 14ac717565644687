"""The code that gives samples, and what it binds and leaves alone."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import BoundMethod, Function, Opaque, Sequence
from transpile.plan.data.data_code import body_of, given_to, held_by, methods
from transpile.plan.graph import parents
from transpile.plan.model import Loader


def sampling(loader: Loader) -> Iterator[Function]:
    """The functions of the project that give a sample of a loader's data set."""
    given = tuple(held_by(given_to(loader, "dataset")).values())
    yield from methods(given, ("__getitem__", "__getitems__"))
    for value in given:
        # What a transformation is given is called with each sample.
        if isinstance(value, Function):
            yield value
        elif isinstance(value, BoundMethod):
            yield value.function
        elif isinstance(value, (Opaque, Sequence)):
            held = [one for group in parents(value) for one in group]
            yield from methods(held, ("__call__",))


def declared(function: Function) -> set[str]:
    """The names of around it that a function binds."""
    return {
        item.name.value
        for part in body_of(function)
        if isinstance(part, (cst.Global, cst.Nonlocal))
        for item in part.names
    }


def outlives(function: Function, node: cst.BaseExpression) -> bool:
    """Whether an expression is an attribute, or a name that a function does not bind itself."""
    if isinstance(node, cst.Attribute):
        return isinstance(node.value, cst.Name)
    if not isinstance(node, cst.Name):
        return False
    bound = {
        each.value
        for part in body_of(function)
        if isinstance(part, (cst.AssignTarget, cst.CompFor, cst.For, cst.AsName, cst.NamedExpr))
        for each in names_in(target_of(part))
    }
    parameters = {each.name.value for each in function.node.params.params}
    return node.value not in bound | parameters


def names_in(target: cst.CSTNode) -> Iterator[cst.Name]:
    """The names that a target binds, and not those of which it binds a part."""
    if isinstance(target, cst.Name):
        yield target
    elif not isinstance(target, (cst.Attribute, cst.Subscript)):
        for child in target.children:
            yield from names_in(child)


def target_of(node: cst.CSTNode) -> cst.CSTNode:
    """What a statement or a part of one binds."""
    if isinstance(node, cst.AsName):
        return node.name
    assert isinstance(node, (cst.AssignTarget, cst.CompFor, cst.For, cst.NamedExpr))
    return node.target


def stands_in_body(module: Module, node: cst.CSTNode) -> bool:
    """Whether a statement stands in no branch or loop of its function."""
    line = module.source.parent(node)
    block = module.source.parent(line) if line is not None else None
    if isinstance(block, cst.IndentedBlock):
        return isinstance(module.source.parent(block), cst.FunctionDef)
    return isinstance(block, cst.FunctionDef)
