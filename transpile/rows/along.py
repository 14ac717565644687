"""Operations along axes: what reduces them, and what mixes their entries."""

from __future__ import annotations

from .bound import Bound, pointwise
from .domain import LENGTH, NONE, Group, Known, Tensor
from .shapes import (
    Mixed,
    Unclear,
    position,
    sample_axis,
    without,
)

# Along axes.


def reduces(bound: Bound) -> Known:
    """One entry is made of all along some axes; of all entries, where none is named."""
    return reduced(bound, bound.axes("dim"))


def reduced(bound: Bound, axes: tuple[int, ...] | None) -> Tensor:
    """The same, the axes known."""
    tensor = bound.tensor("input")
    if tensor.dims is None:
        return Tensor(() if axes is None else None, drawn=tensor.drawn)
    at = sample_axis(tensor.dims)
    if at is not None and (
        axes is None or at in {position(axis, len(tensor.dims)) for axis in axes}
    ):
        raise Mixed(f"'{bound.word}' is taken over the samples of the batch")
    if axes is None:
        return Tensor((), drawn=tensor.drawn)
    keep = bound.flag("keepdim")
    if keep is None:
        raise Unclear(f"the shape that '{bound.word}' gives is not known")
    return Tensor(without(tensor.dims, axes, keep), drawn=tensor.drawn)


def tests(bound: Bound) -> Known:
    """Whether all or any entries along some axes are true."""
    found = reduces(bound)
    assert isinstance(found, Tensor)
    return Tensor(found.dims, drawn=found.drawn, mask=True)


def extremes(bound: Bound) -> Known:
    """The largest or smallest, with its place where an axis is named; or of two tensors."""
    other = bound.get("dim")
    if isinstance(other, Tensor):
        return pointwise(bound.run, bound.word, bound.get("input") or NONE, other)
    found = reduces(bound)
    pair = other is not None and other != NONE
    return fields(("values", found), ("indices", found)) if pair else found


def fields(*entries: tuple[str, Known]) -> Known:
    """A tuple with names."""
    from .domain import Record

    return Record(entries, ordered=True)


def paired(bound: Bound) -> Known:
    """What is reduced along one axis, with its place."""
    axes = bound.axes("dim", None)
    if axes is None and bound.word == "median":
        return reduced(bound, None)
    found = reduced(bound, axes or (-1,))
    return fields(("values", found), ("indices", found))


def two(bound: Bound) -> Known:
    """Two statistics at once."""
    found = reduces(bound)
    return Group((found, found))


def along(bound: Bound) -> Known:
    """Each entry is made of all along one axis; the shape stays."""
    tensor = bound.tensor("input")
    if tensor.dims is None:
        return tensor
    axes = bound.axes("dim", DEFAULT_AXES.get(bound.word, (-1,)))
    return kept_along(bound, tensor, axes)


#: Axes of operations along one, where none is named.
DEFAULT_AXES: dict[str, tuple[int, ...] | None] = {
    "normalize": (1,), "logcumsumexp": None, "msort": (0,), "unique_consecutive": None,
    "flip": None, "roll": None, "fliplr": (1,), "flipud": (0,), "rot90": (0, 1),
    "glu": (-1,), "fftn": None, "ifftn": None, "rfftn": None, "irfftn": None,
    "fftshift": None, "ifftshift": None, "fft2": (-2, -1), "ifft2": (-2, -1),
    "rfft2": (-2, -1), "irfft2": (-2, -1), "layer_norm": (-1,), "trapezoid": (-1,),
}  # fmt: skip


def kept_along(bound: Bound, tensor: Tensor, axes: tuple[int, ...] | None) -> Tensor:
    """The same, the axes known."""
    assert tensor.dims is not None
    at = sample_axis(tensor.dims)
    if at is not None and (
        axes is None or at in {position(axis, len(tensor.dims)) for axis in axes}
    ):
        raise Mixed(f"'{bound.word}' goes along the samples of the batch")
    if bound.word in RESIZING and axes is not None:
        gone = {position(axis, len(tensor.dims)) for axis in axes}
        dims = tuple(LENGTH if place in gone else dim for place, dim in enumerate(tensor.dims))
        return Tensor(dims, drawn=tensor.drawn)
    return Tensor(tensor.dims, drawn=tensor.drawn)


#: Operations along an axis that change its length.
RESIZING = frozenset({"topk", "glu", "diff", "rfft", "irfft", "rfft2", "irfft2", "unique", "rot90"})


def sorts(bound: Bound) -> Known:
    """What goes along one axis, with the places."""
    found = along(bound)
    return fields(("values", found), ("indices", found))


def implicit_softmax(bound: Bound) -> Known:
    """Softmax, whose axis depends on the rank where none is named."""
    tensor = bound.tensor("input")
    if tensor.dims is None:
        return tensor
    chosen = 0 if len(tensor.dims) in (0, 1, 3) else 1
    return kept_along(bound, tensor, bound.axes("dim", (chosen,)))
