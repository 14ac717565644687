"""Which exceptions all processes meet together, because the script raises them where all agree."""

from __future__ import annotations

import libcst as cst

from transpile.facts.events import Branch, Event
from transpile.facts.values import Class, External, Instance, Opaque, Value
from transpile.plan.model import Plan
from transpile.rules.pytorch.randomness._common_draws import in_model
from transpile.rules.pytorch.randomness._drawn_data import is_per_sample

#: Exceptions that every process meets at the same place, or that a person sends to all.
SHARED = frozenset(
    {
        "StopIteration", "KeyboardInterrupt", "ImportError", "ModuleNotFoundError", "NameError",
        "AttributeError", "TypeError", "NotImplementedError", "SystemExit", "GeneratorExit",
    }
)  # fmt: skip


def is_shared(
    plan: Plan, handler: cst.ExceptHandler | cst.ExceptStarHandler, kind: cst.BaseExpression
) -> bool:
    """Whether what a handler catches by this name comes to all processes at the same place.

    The script's own exceptions come where it raises them. What decides whether it does is agreed
    on, as for any other way out of a loop; but of samples each process sees its own.
    """
    for value in plan.facts.values_of(kind):
        if isinstance(value, External):
            return value.name.rpartition(".")[2] in SHARED
        if isinstance(value, Class):
            raised = [event for event in plan.facts.exits if may_raise(plan, event, value)]
            return bool(raised) and all(
                is_within(event, handler) and not sees_share(plan, event) for event in raised
            )
    return False


def sees_share(plan: Plan, event: Event) -> bool:
    """Whether something happens for samples that one process has: of a data set, or in a model."""
    within: bool = in_model(plan, event)
    return within or is_per_sample(event)


def may_raise(plan: Plan, event: Event, cls: Class) -> bool:
    """Whether an exit raises an exception of a class, or may do so."""
    if event.name != "raise" or not isinstance(event.node, cst.Raise):
        return False
    if event.node.exc is None:
        # What is raised again was raised before.
        return False
    values = plan.facts.values_of(event.node.exc)
    return not values or any(is_of(value, cls) for value in values)


def is_of(value: Value, cls: Class) -> bool:
    """Whether an exception is one of a class, or may be."""
    own: Value = value.cls if isinstance(value, Instance) else value
    if isinstance(own, Class):
        return cls in list(own.ancestry())
    made = own.callee if isinstance(own, Opaque) else (own,)
    # Those of a library know nothing of the script's.
    return not all(isinstance(one, External) for one in made)


def is_within(event: Event, handler: cst.ExceptHandler | cst.ExceptStarHandler) -> bool:
    """Whether an exit happens in what a handler watches, on the path of the script itself."""
    return any(
        isinstance(frame, Branch)
        and frame.arm == "body"
        and isinstance(frame.node, (cst.Try, cst.TryStar))
        and any(one is handler for one in frame.node.handlers)
        for frame in event.stack
    )
