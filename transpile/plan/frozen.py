"""Which parameters of a model are frozen when it is wrapped, and what becomes of them later."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.events import Event
from transpile.facts.values import Constant, Opaque, Values
from transpile.plan.model import Model, Plan
from transpile.plan.wraps import Wrap, part_of, switches_whole, training_forwards


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
        off and event.order >= first and not switches_whole(plan, event, model, forwards)
        for event, off, _ in switches_of(plan, model)
    )


def switches_of(plan: Plan, model: Model) -> Iterator[tuple[Event, bool, bool]]:
    """The events that freeze or unfreeze parameters of a model: each, and whether it may do so."""
    for event in plan.facts.events:
        if event.detached:
            continue
        for targets, values, learns in switched(plan, event):
            if any(part_of(plan, target, model) for target in targets):
                off = any(value != Constant(learns) for value in values)
                on = any(value != Constant(not learns) for value in values)
                yield event, off, on


def switched(plan: Plan, event: Event) -> Iterator[tuple[Values, Values, bool]]:
    """Whose gradients an event switches, to what, and the value with which they are learnt."""
    switches = plan.table.gradient_switches
    if event.kind == "store" and event.name in switches:
        yield event.callee, event.result, switches[event.name]
    if event.kind != "call":
        return
    for callee in event.callee:
        if isinstance(callee, Opaque) and callee.kind == "attribute":
            name = callee.name.removesuffix("_")
            if callee.name.endswith("_") and name in switches:
                flag = event.arguments.get(name, 0)
                values = flag.values if flag is not None else (Constant(True),)
                yield callee.operands[0], values, switches[name]
