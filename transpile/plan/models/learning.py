"""Which values and which calls of models gradients flow back through."""

from __future__ import annotations

from transpile.facts.events import Event
from transpile.facts.values import Instance, Value
from transpile.plan.graph import walk_back
from transpile.plan.model import Model, Plan
from transpile.plan.query import query
from transpile.plan.roles.surroundings import gradients_off


def training_forwards(plan: Plan, model: Model) -> list[Event]:
    """The calls of a model whose result a backward pass depends on."""
    reached = reached_by_losses(plan)
    return [
        event
        for event in model.forwards
        if not event.detached
        and not gradients_off(event.stack, plan.table)
        and (not event.result or any(id(v) in reached for v in outputs(event)))
    ]


def outputs(event: Event) -> list[Value]:
    """What a model call gives, its parts included."""
    found: list[Value] = []
    for value in event.result:
        found.append(value)
        for group in getattr(value, "elements", ()):
            found.extend(group)
    return found


@query
def reached_by_losses(plan: Plan) -> set[int]:
    """The identities of all values that a backward pass depends on."""
    losses = tuple(value for backward in plan.backwards for value in backward.loss)
    return {id(value) for value in walk_back(losses, lambda value: not isinstance(value, Instance))}
