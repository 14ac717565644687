"""Operations that give a tensor another shape."""

from __future__ import annotations

from .bound import Bound
from .domain import ONE, PLAIN, UNIT, Dim, Group, Known, Number, Tensor
from .shapes import (
    Impossible,
    Mixed,
    Unclear,
    broadcast,
    expanded,
    flattened,
    position,
    viewed,
)

# Shapes.


def views(bound: Bound) -> Known:
    """The same entries in the same order, of another shape."""
    tensor = bound.tensor("input")
    sizes = bound.get("size")
    if isinstance(sizes, Group) and len(sizes.elements) == 1 and sizes.elements[0] == PLAIN:
        # A type, most likely: ``x.view(torch.int32)``.
        return tensor if tensor.whole else guess(tensor)
    if tensor.dims is None:
        return Tensor(tuple(Dim(one.size if one else None) for one in bound.sizes("size")))
    return Tensor(viewed(tensor.dims, bound.sizes("size")), drawn=tensor.drawn, mask=tensor.mask)


def guess(tensor: Tensor) -> Tensor:
    """A shape that is not known."""
    raise Unclear("the sizes are not known")


def views_as(bound: Bound) -> Known:
    """The shape of another tensor."""
    tensor, other = bound.tensor("input"), bound.tensor("other")
    if tensor.dims is None or other.dims is None:
        return Tensor(None) if tensor.whole and other.whole else guess(tensor)
    targets = tuple(Number(dim.size if not dim.doubt else None, dim.samples) for dim in other.dims)
    return Tensor(viewed(tensor.dims, targets))


def flattens(bound: Bound) -> Known:
    """Neighbouring axes as one."""
    tensor = bound.tensor("input")
    if tensor.dims is None:
        return Tensor(None)
    start, end = bound.axis("start_dim", 0), bound.axis("end_dim", -1)
    return Tensor(flattened(tensor.dims, start, end), drawn=tensor.drawn, mask=tensor.mask)


def unflattens(bound: Bound) -> Known:
    """One axis as several."""
    tensor = bound.tensor("input")
    if tensor.dims is None:
        return Tensor(None)
    place = position(bound.axis("dim"), len(tensor.dims))
    parts = viewed((tensor.dims[place],), bound.sizes("sizes"))
    return Tensor((*tensor.dims[:place], *parts, *tensor.dims[place + 1 :]))


def transposes(bound: Bound) -> Known:
    """Two axes change places."""
    tensor = bound.tensor("input")
    if tensor.dims is None:
        return Tensor(None)
    dims = list(tensor.dims)
    if bound.word in ("t", "adjoint", "T", "mT", "H", "mH"):
        if len(dims) < 2:
            return tensor
        one, other = (-2, -1) if bound.word in ("mT", "adjoint", "mH") else (0, 1)
        if bound.word == "T" and len(dims) > 2:
            return Tensor(tuple(reversed(dims)), drawn=tensor.drawn)
    else:
        one, other = bound.axis("dim0"), bound.axis("dim1")
    first_place, second_place = position(one, len(dims)), position(other, len(dims))
    dims[first_place], dims[second_place] = dims[second_place], dims[first_place]
    return Tensor(tuple(dims), drawn=tensor.drawn, mask=tensor.mask)


def permutes(bound: Bound) -> Known:
    """The axes in another order."""
    tensor = bound.tensor("input")
    if tensor.dims is None:
        return Tensor(None)
    axes = bound.axes("dim")
    if axes is None or len(axes) != len(tensor.dims):
        raise Impossible
    dims = tuple(tensor.dims[position(axis, len(tensor.dims))] for axis in axes)
    return Tensor(dims, drawn=tensor.drawn, mask=tensor.mask)


def moves(bound: Bound) -> Known:
    """Axes are moved to other places."""
    tensor = bound.tensor("input")
    if tensor.dims is None:
        return Tensor(None)
    rank = len(tensor.dims)
    sources = [position(axis, rank) for axis in bound.axes("source") or ()]
    targets = [position(axis, rank) for axis in bound.axes("destination") or ()]
    left = [place for place in range(rank) if place not in sources]
    order: list[int | None] = [None] * rank
    for source, target in zip(sources, targets, strict=True):
        order[target] = source
    dims = tuple(tensor.dims[one if one is not None else left.pop(0)] for one in order)
    return Tensor(dims, drawn=tensor.drawn, mask=tensor.mask)


def unsqueezes(bound: Bound) -> Known:
    """A new axis of length one."""
    tensor = bound.tensor("input")
    if tensor.dims is None:
        return Tensor(None)
    place = position(bound.axis("dim"), len(tensor.dims) + 1)
    dims = (*tensor.dims[:place], UNIT, *tensor.dims[place:])
    return Tensor(dims, tensor.places, tensor.drawn, tensor.mask)


def squeezes(bound: Bound) -> Known:
    """Axes of length one are gone."""
    tensor = bound.tensor("input")
    if tensor.dims is None:
        return Tensor(None)
    axes = bound.axes("dim")
    if axes is None:
        if tensor.whole:
            return Tensor(None, drawn=tensor.drawn)
        if any(not dim.samples and (dim.size is None or dim.size.symbols) for dim in tensor.dims):
            raise Unclear("which axes 'squeeze' takes away is not known")
        dims = tuple(dim for dim in tensor.dims if dim.size != ONE or dim.samples)
        return Tensor(dims, tensor.places, tensor.drawn, tensor.mask)
    gone = {position(axis, len(tensor.dims)) for axis in axes}
    kept = []
    for place, dim in enumerate(tensor.dims):
        if place not in gone or dim.samples:
            kept.append(dim)
        elif dim.size is not None and not dim.size.symbols and dim.size != ONE:
            kept.append(dim)
        elif dim.size != ONE and dim.size is not None:
            raise Unclear("whether 'squeeze' takes an axis away is not known")
    return Tensor(tuple(kept), tensor.places, tensor.drawn, tensor.mask)


def expands(bound: Bound) -> Known:
    """Repeated along axes of length one."""
    tensor = bound.tensor("input")
    targets = bound.sizes("size")
    if tensor.dims is None:
        if any(one is not None and (one.samples or one.counted) for one in targets):
            return Tensor(expanded((), targets))
        return Tensor(tuple(Dim(one.size if one else None) for one in targets))
    found = Tensor(expanded(tensor.dims, targets), drawn=tensor.drawn, mask=tensor.mask)
    if tensor.drawn and not found.whole:
        raise Mixed("one random draw serves all samples of the batch", "noise")
    return found


def expands_as(bound: Bound) -> Known:
    """Repeated to the shape of another tensor."""
    tensor, other = bound.tensor("input"), bound.tensor("other")
    if tensor.dims is None or other.dims is None:
        return Tensor(None) if tensor.whole and other.whole else guess(tensor)
    return Tensor(broadcast(tensor.dims, other.dims), mask=tensor.mask)
