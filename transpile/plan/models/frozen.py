"""Which parameters of a model are frozen when it is wrapped, and what becomes of them later."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.events import Event, Loop
from transpile.facts.values import Constant, Opaque, Values
from transpile.plan.graph import method_calls, origin
from transpile.plan.model import Model, Plan
from transpile.plan.models.learning import training_forwards
from transpile.plan.models.parts import part_of
from transpile.plan.query import query


def unfrozen_later(plan: Plan, model: Model, wrapped: int) -> Event | None:
    """Where parameters that are frozen when the model is wrapped may begin to learn.

    Args:
        plan: the plan.
        model: the model.
        wrapped: events from this position on see the wrapped model.
    """
    switches = list(switches_of(plan, model))
    if not any(off for event, off, _ in switches if event.order < wrapped):
        return None
    later = [event for event, _, on in switches if on and event.order >= wrapped]
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
    for event, each in all_switches(plan):
        for targets, values, learns in each:
            if any(part_of(plan, target, model) for target in targets):
                off = any(value != Constant(learns) for value in values)
                on = any(value != Constant(not learns) for value in values)
                yield event, off, on


@query
def all_switches(plan: Plan) -> list[tuple[Event, list[tuple[Values, Values, bool]]]]:
    """The events that switch gradients of anything, with what they switch."""
    reached = (event for event in plan.facts.events if not event.detached)
    found = ((event, list(switched(plan, event))) for event in reached)
    return [(event, each) for event, each in found if each]


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


def switches_whole(plan: Plan, event: Event, model: Model, forwards: list[Event]) -> bool:
    """Whether all parameters of a model are switched on or off within the training loops.

    The wrap knows the parameters that had gradients when it was made; as long as nothing was frozen
    then, switching all of them together does no harm.
    """
    around = [frame for frame in event.stack if isinstance(frame, Loop)]
    training = {id(loop.node) for forward in forwards for loop in forward.loops()}
    if (
        event.name not in plan.table.gradient_switches
        or len(around) < 2
        or id(around[-2].node) not in training
    ):
        return False
    inner = event.stack[-1] if event.stack else None
    if inner is not around[-1]:
        return False
    return all(
        isinstance(value, Opaque)
        and value.kind == "element"
        and all(
            name == "parameters" and all(origin(one) is model.value for one in receiver)
            for source in value.operands[0]
            for name, receiver in method_calls(source) or (("", ()),)
        )
        for value in event.callee
    )
