"""Which values and which calls of models gradients flow back through."""

from __future__ import annotations

from transpile.facts.events import Event
from transpile.facts.values import Instance, Mapping, Sequence, Value
from transpile.plan.graph import walk_back
from transpile.plan.model import Model, Plan
from transpile.plan.query import query
from transpile.plan.roles.surroundings import gradients_off

#: Outputs of a call after which no more are looked at.
MOST_OUTPUTS = 1000


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
    """What a model call gives, and what that holds where it is a list, a tuple or a dict."""
    found: list[Value] = []
    known: set[Value] = set()
    pending = [*event.result]
    # What is pending is gone through in its order, while more comes to its end.
    for value in pending:
        if len(found) >= MOST_OUTPUTS:
            break
        found.append(value)
        known.add(value)
        if isinstance(value, (Sequence, Mapping)):
            pending.extend(one for one in value.every() if one not in known)
    return found


@query
def reached_by_losses(plan: Plan) -> set[int]:
    """The identities of all values that a backward pass depends on."""
    losses = tuple(value for backward in plan.backwards for value in backward.loss)
    return {id(value) for value in walk_back(losses, lambda value: not isinstance(value, Instance))}
