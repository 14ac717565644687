"""Arrays of samples that are reshaped to as many rows as the batch of the script has samples."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import Argument, External, Opaque, Values
from transpile.plan.model import Plan
from transpile.plan.roles.backwards import data_sources
from transpile.quantity.domain import Kind
from transpile.quantity.sample_axis.pieces import handed
from transpile.quantity.sample_axis.shapes import Given
from transpile.records import dataclass
from transpile.rules.mxnet._roles import receivers_of
from transpile.rules.mxnet.losses._losses import shares

#: Functions that reshape the array that they are given first.
FUNCTIONS = frozenset(
    f"{package}.{word}"
    for package in ("mxnet.nd", "mxnet.np", "numpy")
    for word in ("reshape", "Reshape")
)


@dataclass(frozen=True, eq=False)
class View:
    """A reshape of samples one of whose sizes is the batch size.

    Args:
        event: the call.
        size: where that size is written; None where it is not written in the call.
        whole: what stays whole, as in an evaluation, is reshaped here, too.
    """

    event: Event
    size: cst.BaseExpression | None
    whole: bool = False


def views(plan: Plan, argument: Argument, reached: set[int]) -> Iterator[View]:
    """The reshapes of training batches to rows of samples, each place once.

    Args:
        plan: the plan.
        argument: the batch size.
        reached: the identities of what losses are made of.
    """
    found: dict[int, list[tuple[Event, int | None]]] = {}
    for event in plan.facts.reached_calls:
        if isinstance(event.node, cst.Call) and is_reshape(event):
            axis = axis_in_training(plan, event, argument, reached)
            found.setdefault(id(event.node), []).append((event, axis))
    for runs in found.values():
        for event, axis in runs:
            if axis is None:
                continue
            size = size_at(event, axis)
            if size is None or set(plan.facts.values_of(size)) != set(argument.values):
                yield View(event, None)
            else:
                yield View(event, size, any(other != axis for _, other in runs))
            break


def is_reshape(event: Event) -> bool:
    """Whether a call reshapes an array."""
    if any(isinstance(one, External) and one.name in FUNCTIONS for one in event.callee):
        return True
    return bool(receivers_of(event, "reshape"))


def axis_in_training(plan: Plan, event: Event, argument: Argument, reached: set[int]) -> int | None:
    """The axis of samples of what a call gives, which it is given as the batch size; else None."""
    given = Given(event.arguments, offset(event))
    shape = given.positional()
    axis: int | None = shares(plan).batch_axis("reshape", given)
    if axis is None or set(shape[axis]) != set(argument.values):
        return None
    for value in event.result:
        if not isinstance(value, Opaque):
            continue
        tensor = handed(value)
        pairs = ((shares(plan).of(tensor), 0), (shares(plan).of((value,)), axis))
        if all(one.kind is Kind.SAMPLE and one.dim == at for one, at in pairs):
            if id(value) in reached or is_drawn(plan, tensor):
                return axis
    return None


def offset(event: Event) -> int:
    """How many arguments of a reshape stand before its shape."""
    return 0 if receivers_of(event, "reshape") else 1


def is_drawn(plan: Plan, values: Values) -> bool:
    """Whether values are made of batches of training data."""
    return any(loader.training for loader, _ in data_sources(values, plan))


def size_at(event: Event, axis: int) -> cst.BaseExpression | None:
    """One of the sizes that a reshape is given, as it is written in the call."""
    first = offset(event)
    given = event.arguments.get("shape", first) or event.arguments.keyword("newshape")
    node = given.node if given is not None else None
    if isinstance(node, (cst.Tuple, cst.List)):
        return node.elements[axis].value if axis < len(node.elements) else None
    alone = event.arguments.get("", first + axis)
    node = alone.node if alone is not None else None
    return node if isinstance(node, cst.BaseExpression) else None
