"""Outputs that a model lists by a loop over its layers, of which some are taken by their place."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import External, Instance, Opaque, Sequence, Value
from transpile.facts.walk import descendants
from transpile.plan.graph import made_of
from transpile.plan.model import Model, Plan
from transpile.plan.models.parts import walk_parts

LEN = External("builtins.len")
NAMING = (cst.Name, cst.Attribute, cst.Call, cst.Subscript)


def picks_outputs(plan: Plan, model: Model, layers: list[Value]) -> bool:
    """Whether a script takes nothing but entries at fixed places of such a list, or slices of it.

    The layers that make the others have no gradient then.

    Args:
        plan: the plan.
        model: the model.
        layers: its layers with parameters.
    """
    lists = listed(model, {id(layer) for layer in layers})
    if not lists:
        return False
    picked = False
    for module, node in uses(plan, model, lists):
        parent = module.source.parent(node)
        if isinstance(parent, cst.Subscript) and parent.value is node and is_fixed(parent):
            picked = True
        elif not (is_named(module, node) or is_counted(plan, module, node)):
            return False
    return picked


def listed(model: Model, layers: set[int]) -> set[int]:
    """The identities of lists that a model gives, of entries that layers make in a loop."""
    found: set[int] = set()
    for event in model.forwards:
        for value in event.result:
            inner = value.inner if isinstance(value, Opaque) else ()
            for one in (value, *inner):
                if isinstance(one, Sequence) and one.rest and made_of(one.rest) & layers:
                    found.update((id(one), id(value)))
    return found


def uses(plan: Plan, model: Model, lists: set[int]) -> Iterator[tuple[Module, cst.BaseExpression]]:
    """The expressions outside of the model's classes that give such a list."""
    own = {
        id(ancestor.node)
        for part in walk_parts(model.value)
        if isinstance(part, Instance)
        for ancestor in part.cls.ancestry()
        if hasattr(ancestor, "node")
    }
    for module in plan.facts.modules.values():
        for node in descendants(module.source.tree):
            if not isinstance(node, NAMING):
                continue
            if not any(id(value) in lists for value in plan.facts.values_of(node)):
                continue
            if not any(id(parent) in own for parent in module.source.parents(node)):
                yield module, node


def is_fixed(node: cst.Subscript) -> bool:
    """Whether a subscript takes an entry at a place that is written down, or a slice."""
    if len(node.slice) != 1:
        return False
    part = node.slice[0].slice
    if isinstance(part, cst.Slice):
        return part.lower is not None or part.upper is not None
    index = part.value if isinstance(part, cst.Index) else None
    if isinstance(index, cst.UnaryOperation):
        index = index.expression
    return isinstance(index, cst.Integer)


def is_named(module: Module, node: cst.CSTNode) -> bool:
    """Whether an expression is given a name, or is one that is being given."""
    parent = module.source.parent(node)
    if isinstance(parent, cst.Assign):
        return all(isinstance(each.target, cst.Name) for each in parent.targets)
    return isinstance(parent, cst.AssignTarget)


def is_counted(plan: Plan, module: Module, node: cst.CSTNode) -> bool:
    """Whether it is asked how many entries there are."""
    parent = module.source.parent(node)
    call = module.source.parent(parent) if isinstance(parent, cst.Arg) else None
    return isinstance(call, cst.Call) and LEN in plan.facts.values_of(call.func)
