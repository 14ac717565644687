"""How often models are called for each backward pass."""

from __future__ import annotations

from transpile.facts.events import Loop
from transpile.facts.values import Value
from transpile.plan.graph import walk_back
from transpile.plan.model import Backward, Plan
from transpile.plan.query import query


def is_called(plan: Plan, part: Value) -> bool:
    """Whether a model is seen to be called."""
    return any(v is part for event in plan.facts.reached_calls for v in event.callee)


@query
def one_pass_at_a_time(plan: Plan, part: Value) -> bool:
    """Whether a model is called once for each backward pass, at one place.

    A wrap looks for what the last of several calls does without.
    """
    calls = [event for event in plan.facts.reached_calls if any(v is part for v in event.callee)]
    for backward in plan.backwards:
        around = {id(frame.node) for frame in backward.event.stack if isinstance(frame, Loop)}
        behind = behind_loss(plan, backward)
        inside = [event for event in calls if any(id(v) in behind for v in event.result)]
        if len({id(event.node) for event in inside}) > 1:
            return False
        for event in inside:
            if any(isinstance(f, Loop) and id(f.node) not in around for f in event.stack):
                return False
    return bool(calls)


@query
def behind_loss(plan: Plan, backward: Backward) -> set[int]:
    """The identities of all values that the loss of a backward pass came from."""
    return set(map(id, walk_back(backward.loss)))
