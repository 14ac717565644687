"""Which axes the calls of MXNet go along."""

from __future__ import annotations

from enum import Enum

from transpile.facts.values import Constant, Opaque, Sequence


def leads_with_one(call: Opaque, place: int) -> bool:
    """Whether a new shape has one row, with all samples in it."""
    shape = call.arguments.get("shape", place)
    firsts = [
        value.elements[0] if isinstance(value, Sequence) and value.elements else (value,)
        for value in (shape.values if shape is not None else ())
    ]
    return any(Constant(1) in first for first in firsts)


class Axes(Enum):
    """What a mean or sum is taken over."""

    ALL = "everything"
    BATCH = "the samples of the batch"
    OTHERS = "everything but the samples"
    UNKNOWN = "unknown"


def taken_axes(call: Opaque, place: int) -> Axes:
    """What the call of a mean or sum takes it over.

    The first axis is that of the samples, as everywhere in Gluon.

    Args:
        call: the call.
        place: where in its arguments the axis stands.
    """
    exclude, axis = call.arguments.keyword("exclude"), call.arguments.get("axis", place)
    if exclude is not None and exclude.values == (Constant(True),):
        return Axes.OTHERS
    if axis is None or axis.values == (Constant(None),):
        return Axes.ALL
    numbers = [
        value.value
        for one in axis.values
        for value in (one.every() if isinstance(one, Sequence) else (one,))
        if isinstance(value, Constant)
    ]
    if not numbers or (exclude is not None and exclude.values != (Constant(False),)):
        return Axes.UNKNOWN
    return Axes.BATCH if 0 in numbers else Axes.OTHERS
