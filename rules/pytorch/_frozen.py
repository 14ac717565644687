"""Which parameters of a model are frozen when it is wrapped, and what becomes of them later."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.events import Event
from transpile.facts.values import Constant, Opaque, Values
from transpile.plan.model import Model, Plan
from transpile.rules.pytorch._models import Wrap, part_of, switches_whole, training_forwards


def unfrozen_later(plan: Plan, model: Model, wrap: Wrap) -> Event | None:
    """Where parameters that are frozen when the model is wrapped may begin to learn."""
    switches = list(switches_of(plan, model))
    if not any(off for event, off, _ in switches if event.order < wrap.order):
        return None
    later = [event for event, _, on in switches if on and event.order >= wrap.order]
    return later[0] if later else None


def frozen_later(plan: Plan, model: Model) -> bool:
    """Whether a part of a model is frozen once training has begun."""
    forwards = training_forwards(plan, model)
    if not forwards:
        return False
    first = min(event.order for event in forwards)
    return any(
        off and event.order >= first and not switches_whole(event, model, forwards)
        for event, off, _ in switches_of(plan, model)
    )


def switches_of(plan: Plan, model: Model) -> Iterator[tuple[Event, bool, bool]]:
    """The events that freeze or unfreeze parameters of a model: each, and whether it may do so."""
    for event in plan.facts.events:
        if event.detached:
            continue
        for targets, values in switched(event):
            if any(part_of(plan, target, model) for target in targets):
                off = any(value != Constant(True) for value in values)
                on = any(value != Constant(False) for value in values)
                yield event, off, on


def switched(event: Event) -> Iterator[tuple[Values, Values]]:
    """What an event sets ``requires_grad`` of, and to what."""
    if event.kind == "store" and event.name == "requires_grad":
        yield event.callee, event.result
    if event.kind != "call":
        return
    for callee in event.callee:
        if isinstance(callee, Opaque) and callee.kind == "attribute":
            if callee.name == "requires_grad_":
                flag = event.arguments.get("requires_grad", 0)
                yield callee.operands[0], flag.values if flag is not None else (Constant(True),)
