"""Parts of a model that are frozen once it is wrapped."""

from __future__ import annotations

from transpile.facts.events import Event
from transpile.plan.model import Model, Plan
from transpile.plan.models.frozen import switches_of, switches_whole
from transpile.plan.models.learning import training_forwards
from transpile.plan.models.wraps import Wrap, wrap_alone


def frozen_behind_wrap(plan: Plan, model: Model) -> bool:
    """Whether parts of a model are frozen once it is wrapped, and the wrap waits for them."""
    wrap = wrap_alone(plan, model)
    if not isinstance(wrap, Wrap) or wrap.thawed:
        return False
    forwards = training_forwards(plan, model)
    return any(
        off
        and event.order >= wrap.order
        and is_before(event, forwards)
        and not switches_whole(plan, event, model, forwards)
        for event, off, _ in switches_of(plan, model)
    )


def is_before(event: Event, others: list[Event]) -> bool:
    """Whether some others happen behind an event, in the next round of a loop perhaps."""
    around = {id(loop.node) for loop in event.loops()}
    return any(
        other.order > event.order or any(id(loop.node) in around for loop in other.loops())
        for other in others
    )
