"""What gives no gradient to what it was made of: calls while gradients are off, and ``detach``."""

from __future__ import annotations

from collections import defaultdict

from transpile.facts.events import Event
from transpile.facts.values import Instance, Opaque, Value
from transpile.plan.graph import method_calls
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.plan.roles.surroundings import gradients_off

#: Methods of tensors that cut off what they are called on.
DETACHING = frozenset({"detach", "detach_"})


def stops_gradients(plan: Plan, value: Value) -> bool:
    """Whether it is certain that no gradient goes from a value to what it was made of.

    A call that happens in several ways stops them where it does in all of them.
    """
    if not isinstance(value, Opaque) or value.kind != "call":
        return False
    methods = method_calls(value)
    if len(methods) == len(value.callee) > 0 and all(name in DETACHING for name, _ in methods):
        # A class of the project may mean something else by the word.
        return not any(isinstance(one, Instance) for _, receiver in methods for one in receiver)
    events = calls_that_give(plan).get(id(value), ())
    return bool(events) and all(gradients_off(event.stack, plan.table) for event in events)


@query
def calls_that_give(plan: Plan) -> dict[int, list[Event]]:
    """The calls that give each value, by its identity."""
    found: dict[int, list[Event]] = defaultdict(list)
    for event in plan.facts.calls:
        for value in event.result:
            found[id(value)].append(event)
    return found
