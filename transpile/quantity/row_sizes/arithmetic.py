"""The arithmetic of sizes: those of rows of samples, and those of other axes."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from ..sample_axis.axes import PAIRS_OF
from ..sample_axis.dimensions import keeps_dimensions
from ..sample_axis.shapes import Given, integer


class Rows(NamedTuple):
    """The size of an axis that counts so many rows for each sample of a batch.

    Where that is no whole number, rows of several samples have become one.
    """

    each: Fraction


#: The size of an axis: a number, or so many for each sample; None where it is not known.
Size = int | Rows | None
#: The sizes of a tensor along its axes.
Shape = tuple[Size, ...]
ONE_EACH = Rows(Fraction(1))


def total(sizes: Shape) -> Size:
    """The product of sizes; None where one is not known."""
    found: Size = 1
    for size in sizes:
        found = times(found, size)
    return found


def times(one: Size, other: Size) -> Size:
    """The product of two sizes; None where one is not known, or both count rows."""
    if isinstance(one, int) and isinstance(other, int):
        return one * other
    if isinstance(one, Rows) and isinstance(other, int):
        return Rows(one.each * other)
    return times(other, one) if isinstance(other, Rows) and isinstance(one, int) else None


def divided(size: Size, by: Size) -> Size:
    """A size without a factor; None where that is not known."""
    if isinstance(size, Rows) and isinstance(by, Rows):
        exact = size.each / by.each if by.each else Fraction(0)
        return int(exact) if exact.denominator == 1 else None
    if not isinstance(by, int) or not by or size is None:
        return None
    return Rows(size.each / by) if isinstance(size, Rows) else size // by


def broadcast(first: Shape, second: Shape) -> Shape:
    """The sizes of two tensors that meet element by element."""
    longer, shorter = sorted((first, second), key=len, reverse=True)
    padded = (1,) * (len(longer) - len(shorter)) + shorter
    return tuple(meet(*pair) for pair in zip(longer, padded, strict=True))


def meet(one: Size, other: Size) -> Size:
    """The size of two axes that meet: that of 1 takes the other's, which one is unknown may be."""
    if one == 1 or other == 1:
        return other if one == 1 else one
    return one if one is not None else other


def place(axis: int | None, rank: int) -> int | None:
    """An axis counted from the first; None where there is none."""
    if axis is None or not -rank <= axis < rank:
        return None
    return axis % rank


def flattened(shape: Shape | None, start: int | None, end: int | None) -> Shape | None:
    """The sizes once the axes from one to another are one.

    A shape of which nothing is known has at least those before, where the last axis is the end.
    """
    if start is None or end is None or start < 0:
        return None
    if shape is None:
        return (None,) * (start + 1) if end == -1 else None
    last = place(end, len(shape))
    if last is None or last < start:
        return None
    return (*shape[:start], total(shape[start : last + 1]), *shape[last + 1 :])


def pooled(shape: Shape) -> Shape:
    """The sizes of images, or the like, whose pixels are put together."""
    return (*shape[:2], *(None,) * len(shape[2:]))


def reduced(word: str, base: Shape, given: Given) -> Shape | None:
    """The sizes once axes are summed up."""
    at = 1 if word in ("norm", "vector_norm", "quantile", "nanquantile") else 0
    dims = given.dims(at)
    if dims == ():
        return ()
    if dims is None or word in PAIRS_OF:
        return None
    gone = {place(dim, len(base)) for dim in dims}
    if None in gone:
        return None
    if keeps_dimensions(word, given):
        return tuple(1 if axis in gone else size for axis, size in enumerate(base))
    return tuple(size for axis, size in enumerate(base) if axis not in gone)


def with_unit(word: str, base: Shape, given: Given) -> Shape | None:
    """The sizes with an axis of size 1 more, or less."""
    at = integer(given.get("dim", 0))
    if word == "squeeze":
        gone = place(at, len(base))
        if gone is None or base[gone] is None:
            return None
        return base if base[gone] != 1 else (*base[:gone], *base[gone + 1 :])
    axis = place(at, len(base) + 1)
    return None if axis is None else (*base[:axis], 1, *base[axis:])


def turned(word: str, base: Shape, given: Given) -> Shape | None:
    """The sizes in another order."""
    ordered = [integer(values) for values in given.positional()]
    if word == "t" and len(base) == 2:
        return base[::-1]
    axes = [place(axis, len(base)) for axis in ordered]
    known = [axis for axis in axes if axis is not None]
    if len(known) < len(axes):
        return None
    if word != "permute" and len(known) == 2:
        swapped = dict(zip(known, reversed(known), strict=True))
        return tuple(base[swapped.get(axis, axis)] for axis in range(len(base)))
    return tuple(base[axis] for axis in known) if sorted(known) == list(range(len(base))) else None
