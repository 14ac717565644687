"""Backward passes that go through one call of a model a second time."""

from __future__ import annotations

from collections.abc import Set

from transpile.facts.events import Branch, Event, Stack
from transpile.facts.values import Constant, External, Value
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Backward, Model, Plan
from transpile.plan.models.gradient_flow import lets_gradients_through
from transpile.plan.models.learning import outputs, training_forwards
from transpile.plan.query import query
from transpile.plan.roles.surroundings import gradients_off


def second_pass(plan: Plan, model: Model) -> Event | None:
    """The first backward pass through a call of a model that another went through before.

    A wrap averages gradients in the backward pass that follows a call of the model. What a further
    one adds, without a call in between, stays on its process.
    """
    forwards = training_forwards(plan, model)
    calls = [
        event
        for event in model.forwards
        if not event.detached and not gradients_off(event.stack, plan.table)
    ]
    passes: list[tuple[Event, list[Event]]] = []
    for backward in sorted(plan.backwards, key=lambda backward: backward.event.order):
        if model in backward.models and not backward.event.detached:
            used = used_by(plan, backward, forwards)
            if used:
                passes.append((backward.event, used))
    for position, (event, used) in enumerate(passes):
        if comes_again(event, calls):
            return event
        for other, _ in passes[:position]:
            before = any(forward.order < other.order for forward in used)
            between = [call for call in calls if other.order < call.order < event.order]
            if before and not called_anew(between, event) and may_follow(plan, other, event):
                return event
    return None


def reached_by_gradients_alone(plan: Plan, model: Model) -> bool:
    """Whether a loss depends on a model through gradients of its output alone.

    Those need not depend on all parameters, such as the last bias: a wrap waits for the rest.
    """
    forwards = training_forwards(plan, model)
    return any(
        used_by(plan, backward, forwards)
        and not any(
            made_before(backward, one, _reached_directly(plan, backward)) for one in forwards
        )
        for backward in plan.backwards
        if model in backward.models and not backward.event.detached
    )


def used_by(plan: Plan, backward: Backward, forwards: list[Event]) -> list[Event]:
    """The calls of a model whose result a loss depends on.

    Args:
        plan: the plan.
        backward: the backward pass from the loss.
        forwards: the calls.
    """
    reached = _reached(plan, backward)
    return [forward for forward in forwards if made_before(backward, forward, reached)]


def made_before(backward: Backward, forward: Event, reached: Set[int]) -> bool:
    """Whether a call stands before a backward pass and gives one of the values that it reaches."""
    return forward.order < backward.event.order and any(
        id(value) in reached for value in outputs(forward)
    )


@query
def _reached(plan: Plan, backward: Backward) -> set[int]:
    """The identities of what gradients of a loss flow back to; one walk for all models."""
    return {id(value) for value in walk_back(backward.loss, lets_gradients_through)}


@query
def _reached_directly(plan: Plan, backward: Backward) -> set[int]:
    """The same where they are no gradients of gradients."""
    functions = plan.table.gradient_functions

    def enters(value: Value) -> bool:
        return lets_gradients_through(value) and not any(
            name in functions for name in called_names(value)
        )

    return {id(value) for value in walk_back(backward.loss, enters)}


def comes_again(event: Event, calls: list[Event]) -> bool:
    """Whether a backward pass stands in a loop that goes round without a call of the model."""
    loops = list(event.loops())
    if not loops:
        return False
    inner = loops[-1].node
    return not any(loop.node is inner for call in calls for loop in call.loops())


def may_follow(plan: Plan, first: Event, second: Event) -> bool:
    """Whether a run that comes to one place may come to the other in the same round."""
    if excluded(first.stack, second.stack):
        return False
    arms = {(id(frame.node), frame.arm) for frame in first.stack if isinstance(frame, Branch)}
    own = arms - {(id(f.node), f.arm) for f in second.stack if isinstance(f, Branch)}
    return not any(
        event.kind == "exit"
        and first.order < event.order < second.order
        and any(isinstance(f, Branch) and (id(f.node), f.arm) in own for f in event.stack)
        for event in plan.facts.events
    )


def called_anew(calls: list[Event], event: Event) -> bool:
    """Whether a run that comes to a place has been through one of some calls, whatever it chose."""
    known = {(id(frame.node), frame.arm) for frame in event.stack if isinstance(frame, Branch)}
    chosen: dict[int, set[object]] = {}
    for call in calls:
        own = [
            frame
            for frame in call.stack
            if isinstance(frame, Branch) and (id(frame.node), frame.arm) not in known
        ]
        if not own:
            return True
        if len(own) == 1:
            chosen.setdefault(id(own[0].node), set()).add(own[0].arm)
    return any(len(arms) > 1 for arms in chosen.values())


def excluded(first: Stack, second: Stack) -> bool:
    """Whether two places stand on different arms of one branch."""
    arms = {id(frame.node): frame.arm for frame in first if isinstance(frame, Branch)}
    return any(
        isinstance(frame, Branch) and arms.get(id(frame.node), frame.arm) != frame.arm
        for frame in second
    )


def named_inputs(plan: Plan, model: Model) -> bool:
    """Whether a backward pass through a model is told which tensors get gradients."""
    for backward in plan.backwards:
        if model not in backward.models:
            continue
        by_function = any(isinstance(callee, External) for callee in backward.event.callee)
        given = backward.event.arguments.get("inputs", 5 if by_function else 3)
        if given is not None and given.values != (Constant(None),):
            return True
    return False
