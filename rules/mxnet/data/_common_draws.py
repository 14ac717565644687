"""Random numbers that a training step draws once for all samples of its batch."""

from __future__ import annotations

from transpile.facts.events import Event
from transpile.facts.values import Constant, External, Opaque, Value
from transpile.plan.graph import walk_back
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.rules.mxnet._roles import updates
from transpile.rules.mxnet.data._draws import OTHER_RANDOM, RANDOM, first_axis, has_samples

#: Random numbers of numpy and of Python.
HOST = ("numpy.random.", "random.")
#: What Python's module holds beside draws of one number.
OTHERS = OTHER_RANDOM | {"sample", "choices", "getstate", "setstate", "Random", "SystemRandom"}


@query
def common_draws(plan: Plan) -> list[Event]:
    """The calls in training steps that draw one number, or one of a shape, for a whole batch."""
    loops = {id(update.loop.node) for update in updates(plan) if update.loop is not None}
    losses = tuple(value for backward in plan.backwards for value in backward.loss)
    behind = {id(value) for value in walk_back(losses)} if loops else set()
    return [
        event
        for event in plan.facts.reached_calls
        if not event.detached and draws_numbers(event)
        # What is drawn in a loop of the step itself may be drawn for each sample.
        if any(id(loop.node) in loops for loop in list(event.loops())[-1:])
        if any(id(value) in behind for value in event.result)
        if is_common(plan, event)
    ]


def draws_numbers(event: Event) -> bool:
    """Whether a call draws random numbers of MXNet, of numpy or of Python."""
    return any(
        isinstance(callee, External)
        and callee.name.startswith((*RANDOM, *HOST))
        and callee.name.rpartition(".")[2] not in OTHERS
        for callee in event.callee
    )


def is_common(plan: Plan, event: Event) -> bool:
    """Whether what a call draws has no axis of samples: it is one number, or one row for all."""
    if any(each.star for each in getattr(event.node, "args", ())):
        return False  # the shape of something, whatever that has
    length = first_axis(event)
    if not has_samples(length):
        return True
    values = plan.facts.values_of(length) if length is not None else ()
    return bool(values) and all(map(is_other_axis, values))


def is_other_axis(value: Value) -> bool:
    """Whether a value is the length of an axis behind the first one."""
    return (
        isinstance(value, Opaque)
        and value.kind == "item"
        and any(isinstance(shape, Opaque) and shape.name == "shape" for shape in value.operands[0])
        and len(value.index) == 1
        and isinstance(value.index[0], Constant)
        and value.index[0].value != 0
    )
