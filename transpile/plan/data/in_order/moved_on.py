"""What the code of a data set moves on with each sample: numbers, entries, lists."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import Function, Instance
from transpile.facts.walk import descendants
from transpile.plan.data.data_code import Reads, body_of, given_to, held_by, methods
from transpile.plan.model import Loader, Plan

#: Methods that put something behind what a list holds.
BEHIND = frozenset({"append", "appendleft", "extend"})


def sampling(loader: Loader) -> Iterator[Function]:
    """The functions of the project that give a sample of a loader's data set."""
    given = held_by(given_to(loader, "dataset")).values()
    yield from methods(given, ("__getitem__", "__getitems__"))
    for value in given:
        if isinstance(value, Function):
            # What a transformation is given is called with each sample.
            yield value


def counts_on(plan: Plan, reads: Reads, function: Function, node: cst.CSTNode) -> bool:
    """Whether a statement moves something on that is kept, and that is read elsewhere."""
    target = moved_on(node) or lengthened(function, node)
    if target is None:
        return False
    inside = set(map(id, descendants(node)))
    if isinstance(target, cst.Attribute):
        owners = {id(v) for v in plan.facts.values_of(target.value) if isinstance(v, Instance)}
        return any(
            isinstance(other, cst.Attribute)
            and other.attr.value == target.attr.value
            and id(other) not in inside
            and any(id(v) in owners for v in plan.facts.values_of(other.value))
            for _, other in reads.nodes
        )
    if isinstance(target, cst.Name):
        if isinstance(node, (cst.Assign, cst.AugAssign)) and target.value not in declared(function):
            return False
    elif not is_kept(function, target):
        return False
    return any(
        isinstance(other, type(target))
        and id(other) not in inside
        and other.deep_equals(target)
        and inner.module is function.module
        for inner, other in reads.nodes
    )


def declared(function: Function) -> set[str]:
    """The names of around it that a function binds."""
    return {
        item.name.value
        for part in body_of(function)
        if isinstance(part, (cst.Global, cst.Nonlocal))
        for item in part.names
    }


def is_kept(function: Function, node: cst.CSTNode) -> bool:
    """Whether an expression is, or is an entry of, what outlives the call of a function."""
    while isinstance(node, cst.Subscript):
        node = node.value
    if isinstance(node, cst.Attribute) and isinstance(node.value, cst.Name):
        first = next(iter(function.node.params.params), None)
        own = first is not None and first.name.value == node.value.value == "self"
        return own or outlives(function, node.value)
    return isinstance(node, cst.Name) and outlives(function, node)


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


def moved_on(node: cst.CSTNode) -> cst.Attribute | cst.Subscript | cst.Name | None:
    """What a statement computes from what it was, as in ``self.n += 1``."""
    target: cst.CSTNode
    if isinstance(node, cst.AugAssign):
        target = node.target
    elif isinstance(node, cst.Assign) and len(node.targets) == 1:
        target = node.targets[0].target
        if not isinstance(node.value, cst.BinaryOperation):
            return None
        if not any(part.deep_equals(target) for part in descendants(node.value)):
            return None
    else:
        return None
    if isinstance(target, cst.Subscript):
        return target if has_fixed_keys(target) else None
    return target if isinstance(target, (cst.Attribute, cst.Name)) else None


def lengthened(function: Function, node: cst.CSTNode) -> cst.Attribute | cst.Name | None:
    """The list that a function adds to in each of its calls."""
    if not isinstance(node, cst.Expr) or not isinstance(node.value, cst.Call):
        return None
    called = node.value.func
    if not isinstance(called, cst.Attribute) or called.attr.value not in BEHIND:
        return None
    kept = called.value
    if not isinstance(kept, (cst.Attribute, cst.Name)) or not is_kept(function, kept):
        return None
    return kept if stands_in_body(function.module, node) else None


def has_fixed_keys(node: cst.BaseExpression) -> bool:
    """Whether an entry is the same whatever sample is asked for."""
    while isinstance(node, cst.Subscript):
        for element in node.slice:
            key = element.slice.value if isinstance(element.slice, cst.Index) else None
            if not isinstance(key, (cst.SimpleString, cst.Integer)):
                return False
        node = node.value
    return True


def stands_in_body(module: Module, node: cst.CSTNode) -> bool:
    """Whether a statement stands in no branch or loop of its function."""
    line = module.source.parent(node)
    block = module.source.parent(line) if line is not None else None
    if isinstance(block, cst.IndentedBlock):
        return isinstance(module.source.parent(block), cst.FunctionDef)
    return isinstance(block, cst.FunctionDef)
