"""Models that a script trains as a part of another, whose weights it moves, loads or saves."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import Instance, Opaque, Value
from transpile.plan.graph import origin
from transpile.plan.model import Model, Plan
from transpile.plan.models.holders import Holder
from transpile.plan.query import query


def touched_as_part(plan: Plan, model: Model, holder: Holder, order: int) -> str:
    """Why a wrap would stand in the way of what is done with the whole that a model is part of.

    A wrapped part has other names in the weights of the whole, and loses hold of parameters that
    are moved with the whole.

    Args:
        plan: the plan.
        model: the part.
        holder: the variable that would be wrapped.
        order: from where on the wrap is there.
    """
    if "." not in holder.text:
        return ""
    name = holder.text.rpartition(".")[2]
    for event, whole in whole_calls(plan):
        values = whole.attributes.get(name, ())
        if event.order >= order and any(origin(value) is model.value for value in values):
            return (
                f"it is a part of '{whole.cls.name}', whose weights are moved, loaded or saved "
                "as a whole behind the place of the wrap"
            )
    return ""


@query
def whole_calls(plan: Plan) -> list[tuple[Event, Instance]]:
    """The calls that move, load or save all weights of a model of the project, and that model."""
    methods = {*plan.table.preparing_methods, *plan.table.saving_methods}
    return [
        (event, whole)
        for event in plan.facts.calls
        if not event.detached
        for callee in event.callee
        if isinstance(callee, Opaque) and callee.kind == "attribute" and callee.name in methods
        for value in callee.operands[0]
        if isinstance(whole := origin(value), Instance)
    ]


def put_into_wholes(plan: Plan, model: Value, order: int) -> Iterator[tuple[Module, cst.Attribute]]:
    """Where a model is made a part of another, which is moved, loaded or saved, but not trained.

    Args:
        plan: the plan.
        model: the model.
        order: from where on it is wrapped.
    """
    wholes = {id(whole) for event, whole in whole_calls(plan) if event.order >= order}
    called = {
        node.func.attr.value
        for each in plan.trained_models
        if each.value is model
        for event in each.forwards
        for node in (event.node,)
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute)
    }
    for event in plan.facts.stores:
        if event.order < order or event.detached or event.name in called:
            continue
        into = {id(origin(value)) for value in event.callee}
        if into & wholes and isinstance(event.node, cst.Attribute):
            if any(origin(value) is model for value in event.result):
                yield event.module, event.node
