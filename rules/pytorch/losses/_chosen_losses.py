"""Losses that a model is part of on some paths only.

What averages the gradients of a model waits for all processes. Where one of them has a loss without
the model, the others wait for ever, or take the gradients of the next batch for those of this one.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Branch, Event, Loop
from transpile.facts.values import Instance, Sequence, Value, Values
from transpile.plan.graph import parents, walk_back
from transpile.plan.model import Backward, Model, Plan
from transpile.plan.models.learning import outputs, training_forwards


def chosen_parts(plan: Plan) -> Iterator[tuple[Event, Model]]:
    """The parts of losses that bring a model in on some paths only, one for each arm."""
    for backward in plan.backwards:
        if backward.event.detached:
            continue
        for model in backward.models:
            given = {id(v) for event in training_forwards(plan, model) for v in outputs(event)}
            if given and any(lacks(value, given) for value in backward.loss):
                yield from ((event, model) for event in parts(plan, backward, given))


def lacks(value: Value, given: set[int]) -> bool:
    """Whether a loss may do without what a model gives: a list that is filled may stay empty."""
    seen: set[int] = set()
    stack: list[Value] = [value]
    while stack:
        one = stack.pop()
        if id(one) in given:
            return False
        if id(one) in seen or isinstance(one, Instance):
            continue
        seen.add(id(one))
        groups: list[Values] = list(one.elements if isinstance(one, Sequence) else parents(one))
        stack.extend(each for group in groups for each in group)
    return True


def parts(plan: Plan, backward: Backward, given: set[int]) -> Iterator[Event]:
    """The first call on each arm within the batch loop that a model has part in."""
    reached = {id(value) for value in walk_back(backward.loss, is_computed)}
    known: dict[int, bool] = {}
    seen: set[Branch] = set()
    for event in plan.facts.reached_calls:
        arm = innermost_arm(backward, event)
        if arm is None or arm in seen:
            continue
        for value in event.result:
            if id(value) in reached:
                if id(value) not in known:
                    known[id(value)] = not lacks(value, given)
                if known[id(value)]:
                    seen.add(arm)
                    yield event
                    break


def is_computed(value: Value) -> bool:
    """Whether a value is computed from others, rather than an object."""
    return not isinstance(value, Instance)


def innermost_arm(backward: Backward, event: Event) -> Branch | None:
    """The innermost arm of a choice around an event, within the loop over the batches."""
    loop = backward.batch_loop
    for frame in reversed(event.stack):
        if loop is not None and isinstance(frame, Loop) and frame.node is loop.node:
            return None
        if isinstance(frame, Branch) and isinstance(frame.node, (cst.If, cst.IfExp)):
            return frame
    return None
