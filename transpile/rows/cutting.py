"""Operations that take a tensor apart or pick entries of it."""

from __future__ import annotations

from transpile.facts.values import Constant

from .bound import Bound
from .domain import LENGTH, ONE, Dim, Factor, Group, Known, Number, Tensor
from .items import NAMED, PICKED
from .shapes import (
    Impossible,
    Mixed,
    Unclear,
    position,
    sample_axis,
)


def splits(bound: Bound) -> Known:
    """Pieces along an axis."""
    tensor = bound.tensor("input")
    if tensor.dims is None:
        return Group((), Tensor(None))
    place = position(bound.axis("dim", 0), len(tensor.dims))
    dim = tensor.dims[place]
    pieces = bound.integer("pieces")
    if dim.samples:
        halves = dim.outer.number if dim.outer is not None and not dim.outer.symbols else 0
        cut = bound.get("pieces")
        by_count = bound.word == "split" and cut == Number(ONE, True)
        by_number = bound.word != "split" and pieces == halves
        if halves > 1 and dim.size == ONE and (by_count or by_number):
            one = Tensor((*tensor.dims[:place], Dim(ONE, True), *tensor.dims[place + 1 :]))
            return Group((one,) * halves)
        raise Mixed("a part of the samples is cut out")
    length = dim.size.number if dim.size is not None and not dim.size.symbols else None
    if bound.word in ("chunk", "tensor_split", "hsplit", "vsplit") and pieces is not None:
        size = Factor(length // pieces) if length is not None and length % pieces == 0 else None
        return Group((with_axis(tensor, place, Dim(size)),) * pieces)
    sizes = bound.get("pieces")
    if isinstance(sizes, Group) and sizes.rest is None:
        return Group(
            tuple(with_axis(tensor, place, Dim(one.size if one else None))
                  for one in bound.sizes("pieces"))
        )  # fmt: skip
    if bound.word == "split" and pieces and length is not None and length % pieces == 0:
        return Group((with_axis(tensor, place, Dim(Factor(pieces))),) * (length // pieces))
    return Group((), with_axis(tensor, place, LENGTH))


def with_axis(tensor: Tensor, place: int, dim: Dim) -> Tensor:
    """The tensor with another axis at a place."""
    assert tensor.dims is not None
    return Tensor((*tensor.dims[:place], dim, *tensor.dims[place + 1 :]), drawn=tensor.drawn)


def unbinds(bound: Bound) -> Known:
    """The slices along an axis."""
    tensor = bound.tensor("input")
    if tensor.dims is None:
        return Group((), Tensor(None))
    place = position(bound.axis("dim", 0), len(tensor.dims))
    dim = tensor.dims[place]
    if dim.samples:
        raise Unclear("the samples are gone through one by one")
    one = Tensor((*tensor.dims[:place], *tensor.dims[place + 1 :]))
    if dim.size is not None and not dim.size.symbols and dim.size.number <= 64:
        return Group((one,) * dim.size.number)
    return Group((), one)


def picks(bound: Bound) -> Known:
    """One slice along an axis."""
    tensor = bound.tensor("input")
    if tensor.dims is None:
        return Tensor(None)
    place = position(bound.axis("dim", 0), len(tensor.dims))
    if tensor.dims[place].samples:
        raise Mixed("one sample is picked out of the batch")
    return Tensor((*tensor.dims[:place], *tensor.dims[place + 1 :]))


def cuts(bound: Bound) -> Known:
    """A part along an axis, or entries at whole places."""
    tensor = bound.tensor("input")
    if tensor.dims is None:
        return Tensor(None)
    place = position(bound.axis("dim", 0), len(tensor.dims))
    index = bound.get("index")
    if tensor.dims[place].samples:
        raise Mixed(NAMED if isinstance(index, Tensor) and not index.whole else PICKED)
    if isinstance(index, Tensor) and not index.whole:
        if not tensor.whole:
            raise Mixed(NAMED)
        assert index.dims is not None
        return Tensor((*tensor.dims[:place], *index.dims, *tensor.dims[place + 1 :]))
    return with_axis(tensor, place, LENGTH)


def gathers(bound: Bound) -> Known:
    """Entries at places along an axis, each row from its own."""
    tensor, index = bound.tensor("input"), bound.tensor("index")
    if tensor.dims is None or index.dims is None:
        if tensor.whole and index.whole:
            return Tensor(None)
        raise Unclear("the shape of what picks entries is not known")
    if len(tensor.dims) != len(index.dims):
        raise Impossible
    place = position(bound.axis("dim"), len(tensor.dims))
    at = {one for one in (sample_axis(tensor.dims), sample_axis(index.dims)) if one is not None}
    if tensor.whole and sample_axis(index.dims) == place and bound.word == "gather":
        # A schedule, say: each sample has the entries at the places that it names itself.
        return Tensor(index.dims)
    if place in at:
        raise Mixed(f"'{bound.word}' picks some of the samples")
    if len(at) > 1:
        raise Mixed("the samples meet along two axes")
    if tensor.whole or index.whole:
        if at:
            raise Unclear("rows are picked out of a tensor that is not made of samples")
        return Tensor(index.dims)
    return Tensor(index.dims)


def scatters(bound: Bound) -> Known:
    """Entries are put at places along an axis, each row into its own."""
    tensor, index = bound.tensor("input"), bound.tensor("index")
    source = bound.get("src")
    if tensor.dims is None or index.dims is None:
        raise Unclear("the shape of what is written is not known")
    if len(tensor.dims) != len(index.dims):
        raise Impossible
    place = position(bound.axis("dim"), len(tensor.dims))
    at = sample_axis(tensor.dims)
    parts = [index, *([source] if isinstance(source, Tensor) else [])]
    sampled = [one for one in parts if not one.whole]
    if at is None:
        if sampled:
            raise Mixed("samples are written into a tensor that has none of their own")
        return Tensor(tensor.dims)
    if place == at or any(one.axis != at for one in parts if not one.whole):
        raise Mixed(f"'{bound.word}' goes along the samples of the batch")
    if index.whole:
        raise Unclear("which rows are written is not known")
    return Tensor(tensor.dims)


def one_hot(bound: Bound) -> Known:
    """A new axis behind the others."""
    tensor = bound.tensor("input")
    if tensor.dims is None:
        return Tensor(None)
    count = bound.get("count")
    if count is None or count == Constant(-1):
        raise (
            Mixed("how many classes there are is read off the samples of the batch")
            if (not tensor.whole)
            else Unclear("how many classes there are is not known")
        )
    return Tensor((*tensor.dims, Dim(bound.sizes("count")[0].size)))  # type: ignore[union-attr]
