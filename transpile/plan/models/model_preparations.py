"""What prepares a model before it is wrapped: moves, freezes, loads of weights."""

from __future__ import annotations

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import External, Opaque, Value
from transpile.plan.model import Model, Plan
from transpile.plan.models.frozen import switched, switches_whole
from transpile.plan.models.holders import Holder
from transpile.plan.models.parts import is_plain, part_of
from transpile.plan.models.wrap_sites import site_in_scope
from transpile.plan.query import query

#: Attributes of a model or parameter whose setting replaces what learns.
PARTS = frozenset({"weight", "bias", "data", "optimize_attr"})


def preparations(
    plan: Plan, model: Model, holder: Holder, forwards: list[Event], thawed: bool
) -> list[cst.CSTNode]:
    """Where in the scope the model is moved, loaded or frozen before its first training call."""
    first_forward = min(event.order for event in forwards)
    found: list[cst.CSTNode] = []
    frozen = False
    for event in preparing_events(plan):
        if event.order >= first_forward:
            break
        if not prepares(plan, event, model) or switches_each_batch(plan, event):
            continue
        if not frozen and switches_whole(plan, event, model, forwards):
            continue
        if thawed and next(switched(plan, event), None) is not None:
            continue
        if loads_shards(plan, event, model) or returns_to(plan, event, forwards):
            continue
        frozen = frozen or event.name in plan.table.gradient_switches
        site = site_in_scope(holder, event)
        if site is not None:
            found.append(site)
    return found


def switches_each_batch(plan: Plan, event: Event) -> bool:
    """Whether a function goes over the model's parts for every batch, as switches of modes do."""
    if not any(isinstance(c, Opaque) and c.name == "apply" for c in event.callee):
        return False
    loops = {id(each.batch_loop.node) for each in plan.backwards if each.batch_loop is not None}
    return any(id(frame.node) in loops for frame in event.loops())


def loads_shards(plan: Plan, event: Event, model: Model) -> bool:
    """Whether weights are loaded behind an optimizer, which must find the shards of the model."""
    return (
        plan.options.strategy == "fsdp"
        and any(optimizer.event.order < event.order for optimizer in model.optimizers)
        and any(
            isinstance(callee, Opaque) and callee.name in plan.table.loading_methods
            for callee in event.callee
        )
    )


def returns_to(plan: Plan, event: Event, forwards: list[Event]) -> bool:
    """Whether a model that trains already is given weights in place, or a plain number.

    Its wrap stays right: a loop comes back here behind training calls.
    """
    loops = {id(frame.node) for frame in event.loops()}
    if not any(id(frame.node) in loops for forward in forwards for frame in forward.loops()):
        return False
    if event.kind == "store":
        return event.name not in PARTS and is_plain(event.result)
    return all(
        isinstance(callee, Opaque) and callee.name in plan.table.loading_methods
        for callee in event.callee
    )


@query
def preparing_events(plan: Plan) -> list[Event]:
    """The events that move, load or freeze some object, or set something on it, in order."""
    return [
        event
        for event in plan.facts.events
        if not event.detached
        and (
            event.kind == "store"
            or (event.kind == "call" and any(may_prepare(plan, callee) for callee in event.callee))
        )
    ]


def may_prepare(plan: Plan, callee: Value) -> bool:
    """Whether calling something may move, load, freeze or replace a model."""
    if isinstance(callee, External):
        return callee.name in plan.table.replacing
    return (
        isinstance(callee, Opaque)
        and callee.kind == "attribute"
        and callee.name in plan.table.preparing_methods
    )


def prepares(plan: Plan, event: Event, model: Model) -> bool:
    """Whether one of :func:`preparing_events` is about a model or a part of it."""
    if event.kind == "store" and (
        event.name in PARTS or event.name in plan.table.gradient_switches
    ):
        return any(part_of(plan, value, model) for value in event.callee)
    if event.kind == "store":
        return any(value is model.value for value in event.callee) and event.name != "training"
    for callee in event.callee:
        if (
            isinstance(callee, Opaque)
            and callee.kind == "attribute"
            and callee.name in plan.table.preparing_methods
        ):
            if any(part_of(plan, value, model) for value in callee.operands[0]):
                return True
        if isinstance(callee, External) and callee.name in plan.table.replacing:
            given = event.arguments.items[0].values if event.arguments.items else ()
            if any(part_of(plan, value, model) for value in given):
                return True
    return False
