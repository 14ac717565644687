"""Models that leave for another device or type, and come back, while they train."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.events import Event
from transpile.facts.values import Constant, External, Opaque, Value
from transpile.plan.graph import called_names, origin
from transpile.plan.model import Model, Plan
from transpile.plan.models.model_preparations import preparing_events
from transpile.plan.models.parts import parts_of


def moved_while_it_trains(plan: Plan, model: Model, forwards: list[Event]) -> Event | None:
    """Where parameters leave for another device or type and learn again after that.

    Parameters that move get new nodes of the graph, which the hooks of a wrap do not know: from
    then on it averages nothing, without a word.

    Args:
        plan: the plan.
        model: the model.
        forwards: the calls of the model that train it.
    """
    if not forwards or not plan.table.moving_methods:
        return None
    first, last = min(each.order for each in forwards), max(each.order for each in forwards)
    moves = [
        event
        for event in preparing_events(plan)
        if event.kind == "call" and any(is_of(plan, what, model) for what in moved(plan, event))
    ]
    if all(leaves(plan, event) for event in moves):
        return None
    made = {
        id(loop.node)
        for event in plan.facts.calls
        if event.node is getattr(model.value, "node", None)
        for loop in event.loops()
    }
    again = {id(loop.node) for each in forwards for loop in each.loops()} - made
    return next(
        (
            event
            for event in moves
            if event.order > first
            and leaves(plan, event)
            and (event.order < last or any(id(loop.node) in again for loop in event.loops()))
        ),
        None,
    )


def moved(plan: Plan, event: Event) -> Iterator[Value]:
    """What a call of a method moves."""
    for callee in event.callee:
        if isinstance(callee, Opaque) and callee.name in plan.table.moving_methods:
            yield from callee.operands[0]


def is_of(plan: Plan, value: Value, model: Model) -> bool:
    """Whether a value is a model or a part of it, and not a copy of its weights."""
    return id(origin(value)) in parts_of(plan, model)


def leaves(plan: Plan, event: Event) -> bool:
    """Whether a move certainly goes to where no GPU is, or to another type."""
    given = [value for item in event.arguments.items for value in item.values]
    for callee in event.callee:
        if isinstance(callee, Opaque) and callee.name in plan.table.moving_methods:
            fixed = plan.table.moving_methods[callee.name]
            if fixed or (given and all(is_elsewhere(plan, value) for value in given)):
                return True
    return False


def is_elsewhere(plan: Plan, value: Value) -> bool:
    """Whether a value names a device that is no GPU, or a type that models do not begin with."""
    if isinstance(value, Constant):
        return value.value in plan.table.elsewhere
    if isinstance(value, External):
        return value.name in plan.table.elsewhere
    if not called_names(value) or not isinstance(value, Opaque):
        return False
    named = [one for item in value.arguments.items for one in item.values]
    return bool(named) and all(is_elsewhere(plan, one) for one in named)
