"""Where a script looks into a model that is wrapped by then."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import Class, External, Instance, Opaque, Value
from transpile.facts.walk import descendants
from transpile.plan.graph import origin
from transpile.plan.model import Plan
from transpile.plan.places import ancestors, function_of, start
from transpile.plan.wraps import Wrap
from transpile.records import dataclass


@dataclass(frozen=True, eq=False)
class Reach:
    """An expression that is the wrap, where the model itself is wanted.

    Args:
        module: where it is.
        node: the expression.
        name: what of the model is wanted; empty where all of it is.
        replaced: that is assigned, not read.
    """

    module: Module
    node: cst.BaseExpression
    name: str = ""
    replaced: bool = False


def reaches(
    plan: Plan, wrap: Wrap, same: frozenset[str], harmless: tuple[str, ...]
) -> Iterator[Reach]:
    """The places that look into the model of a wrap.

    Args:
        plan: the plan.
        wrap: where the model is wrapped.
        same: what the wrap itself does as the model would.
        harmless: dotted prefixes of functions that a wrap may be given as well as the model.
    """
    value = wrap.models[0].value
    for module, node in accessed(plan).get(id(value), ()):
        if inside_class_of(plan, module, node, value):
            continue
        name = node.attr.value if isinstance(node, cst.Attribute) else "[]"
        if name in same or is_before(plan, wrap, module, node):
            continue
        yield Reach(module, node.value, name, is_replaced(module, node))
    yield from arguments(plan, wrap, harmless)


def accessed(plan: Plan) -> dict[int, list[tuple[Module, cst.Attribute | cst.Subscript]]]:
    """The attribute and item accesses of each object, by its identity."""
    if "accessed" not in plan.memo:
        found: dict[int, list[tuple[Module, cst.Attribute | cst.Subscript]]] = {}
        for module in plan.facts.modules.values():
            for node in expressions(module.source.tree):
                behind = {id(origin(value)) for value in plan.facts.values_of(node.value)}
                for identity in behind:
                    found.setdefault(identity, []).append((module, node))
        plan.memo["accessed"] = found
    made: dict[int, list[tuple[Module, cst.Attribute | cst.Subscript]]] = plan.memo["accessed"]
    return made


def arguments(plan: Plan, wrap: Wrap, harmless: tuple[str, ...]) -> Iterator[Reach]:
    """Calls out of the project that are given the wrapped model itself."""
    value = wrap.models[0].value
    for event in plan.facts.events:
        if event.kind != "call" or not isinstance(event.node, cst.Call):
            continue
        if event.order < wrap.order and not event.detached:
            continue
        if not looks_at_arguments(event.callee, harmless):
            continue
        for arg in event.node.args:
            node = arg.value
            if not isinstance(node, (cst.Name, cst.Attribute, cst.Subscript)):
                continue
            if holds(plan, node, value) and not inside_class_of(plan, event.module, node, value):
                yield Reach(event.module, node)


def looks_at_arguments(callees: tuple[Value, ...], harmless: tuple[str, ...]) -> bool:
    """Whether a call out of the project may look into the model that it is given."""
    for callee in callees:
        if isinstance(callee, External):
            if callee.name.startswith(harmless) or callee.name == "builtins.super":
                return False
        elif not isinstance(callee, Opaque):
            return False
    return bool(callees)


def expressions(tree: cst.CSTNode) -> Iterator[cst.Attribute | cst.Subscript]:
    """Every attribute and item access of a module."""
    for node in descendants(tree):
        if isinstance(node, (cst.Attribute, cst.Subscript)):
            yield node


def holds(plan: Plan, node: cst.CSTNode, value: Value) -> bool:
    """Whether an expression may be the model."""
    return any(origin(found) is value for found in plan.facts.values_of(node))


def inside_class_of(plan: Plan, module: Module, node: cst.CSTNode, value: Value) -> bool:
    """Whether a place is in the code of the model's own class, where it is never wrapped."""
    if not isinstance(value, Instance):
        return False
    classes = {id(c.node) for c in value.cls.ancestry() if isinstance(c, Class)}
    return any(id(ancestor) in classes for ancestor in ancestors(module, node))


def is_before(plan: Plan, wrap: Wrap, module: Module, node: cst.CSTNode) -> bool:
    """Whether a place runs only before the wrap."""
    if module is wrap.module and function_of(module, node) is wrap.function:
        if wrap.before is None:
            return start(module, node) <= start(module, wrap.after)
        return start(module, node) < start(module, wrap.before)
    function = function_of(module, node)
    last = last_orders(plan).get(id(function)) if function is not None else None
    return last is not None and last < wrap.order


def last_orders(plan: Plan) -> dict[int, int]:
    """The position of the last event in each function, by the identity of its node."""
    if "last orders" not in plan.memo:
        found: dict[int, int] = {}
        for event in plan.facts.events:
            function = event.function()
            if function is not None and not event.detached:
                found[id(function.node)] = event.order
        plan.memo["last orders"] = found
    made: dict[int, int] = plan.memo["last orders"]
    return made


def is_replaced(module: Module, node: cst.CSTNode) -> bool:
    """Whether an access is the target of an assignment."""
    parent = module.source.parent(node)
    return isinstance(parent, cst.AssignTarget)
