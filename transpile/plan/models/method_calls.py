"""Calls of a model's methods, where training goes through them and never through the model itself.

``policy.evaluate(states, actions)`` is such a call: no wrap around the model sees it.
"""

from __future__ import annotations

from transpile.facts.events import Call, Event
from transpile.facts.values import BoundMethod
from transpile.plan.graph import is_instance_of, origin
from transpile.plan.model import Model, Plan
from transpile.plan.models.gradient_flow import reached_by_gradients
from transpile.plan.models.learning import outputs, training_forwards
from transpile.plan.query import query
from transpile.plan.roles.surroundings import gradients_off


@query
def training_method_calls(plan: Plan, model: Model) -> list[Event]:
    """The outermost calls of methods of a model that gradients flow back to.

    A method in which a backward pass stands trains the model: what it calls counts, too.
    """
    reached = reached_by_gradients(plan)
    return [
        event
        for event in plan.facts.calls
        if method_of(event, model) is not None
        and not event.detached
        and any(id(value) in reached for value in outputs(event))
        and not gradients_off(event.stack, plan.table)
        and not is_within_model(plan, event)
    ]


def method_of(event: Event, model: Model) -> BoundMethod | None:
    """The one method of a model that is called; None where anything else may be."""
    if len(event.callee) != 1:
        return None
    callee = event.callee[0]
    is_method = isinstance(callee, BoundMethod) and origin(callee.receiver) is model.value
    return callee if is_method and isinstance(callee, BoundMethod) else None


def is_within_model(plan: Plan, event: Event) -> bool:
    """Whether an event happens inside of a model's code that no backward pass is inside of, too."""
    trains = {
        id(frame)
        for backward in plan.backwards
        for frame in backward.event.stack
        if isinstance(frame, Call)
    }
    return any(
        isinstance(frame, Call)
        and id(frame) not in trains
        and any(is_instance_of(value, plan.table.module_bases) for value in frame.receiver)
        for frame in event.stack
    )


def training_calls(plan: Plan, model: Model) -> list[Event]:
    """The calls that a backward pass depends on: of a model, or else of methods of it."""
    return training_forwards(plan, model) or training_method_calls(plan, model)
