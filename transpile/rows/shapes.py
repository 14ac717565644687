"""Shapes of tensors with samples: what becomes of the sample axis."""

from __future__ import annotations

from collections.abc import Iterable

from .domain import LENGTH, ONE, UNIT, Dim, Factor, Number, product


class Impossible(Exception):
    """The operation fails on a tensor of this shape, whatever the number of samples."""


class Mixed(Exception):
    """The operation mixes the samples.

    Args:
        reason: how.
    """

    def __init__(self, reason: str, cause: str = "samples") -> None:
        super().__init__(reason)
        self.reason = reason
        self.cause = cause


class Unclear(Exception):
    """Whether the operation mixes the samples is not known.

    Args:
        reason: why.
    """

    def __init__(self, reason: str, cause: str = "layout") -> None:
        super().__init__(reason)
        self.reason = reason
        self.cause = cause


Dims = tuple[Dim, ...]
#: So many samples in one row are no batch: the tensor has other axes than those supposed.
MOST_IN_A_ROW = 100


def position(axis: int, rank: int) -> int:
    """An axis counted from the left."""
    found = axis + rank if axis < 0 else axis
    if not 0 <= found < rank:
        raise Impossible
    return found


def sample_axis(dims: Dims) -> int | None:
    """The axis that counts samples."""
    return next((place for place, dim in enumerate(dims) if dim.samples), None)


def fixed(number: int) -> Dim:
    """An axis of known length."""
    return Dim(Factor(number))


def broadcast(first: Dims, second: Dims) -> Dims:
    """The shape of two tensors that meet element by element."""
    rank = max(len(first), len(second))
    left = (UNIT,) * (rank - len(first)) + first
    right = (UNIT,) * (rank - len(second)) + second
    found = tuple(meet(one, other) for one, other in zip(left, right, strict=True))
    if sum(dim.samples for dim in found) > 1:
        raise Mixed("it compares every sample with every other")
    return found


def meet(one: Dim, other: Dim) -> Dim:
    """The axis that two make together."""
    if one.samples and other.samples:
        if one.doubt != other.doubt:
            return other if one.doubt else one
        if one.outer != other.outer:
            raise Unclear("the samples lie in another order in the two tensors")
        if one.size != other.size and one.size is not None and other.size is not None:
            if one.size == ONE or other.size == ONE:
                raise Impossible
            raise Unclear("the samples lie in another order in the two tensors")
        return one if other.size is None else other
    if one.samples or other.samples:
        samples, plain = (one, other) if one.samples else (other, one)
        if plain.size is not None and not plain.size.symbols and plain.size.number != 1:
            raise Impossible
        return samples
    if one.size == ONE:
        return other
    if other.size == ONE or other.size is None or one.size is None:
        return one if other.size == ONE or other.size is None else other
    if one.size != other.size and not one.size.symbols and not other.size.symbols:
        raise Impossible
    return one


def without(dims: Dims, axes: Iterable[int], keep: bool) -> Dims:
    """The shape once axes are gone, or are one long."""
    gone = {position(axis, len(dims)) for axis in axes}
    if keep:
        return tuple(UNIT if place in gone else dim for place, dim in enumerate(dims))
    return tuple(dim for place, dim in enumerate(dims) if place not in gone)


def merged(dims: Dims) -> Dim:
    """Several neighbouring axes as one."""
    at = sample_axis(dims)
    if at is None:
        return Dim(product([dim.size for dim in dims]))
    before = product([dim.size for dim in dims[:at]])
    behind = product([dim.size for dim in dims[at + 1 :]])
    dim = dims[at]
    outer = None if before is None or dim.outer is None else before.times(dim.outer)
    size = None if behind is None or dim.size is None else dim.size.times(behind)
    return Dim(size, True, outer, dim.doubt)


def flattened(dims: Dims, start: int, end: int) -> Dims:
    """The shape with the axes from `start` to `end` as one."""
    if not dims:
        return (UNIT,)
    first, last = position(start, len(dims)), position(end, len(dims))
    if first > last:
        raise Impossible
    return (*dims[:first], merged(dims[first : last + 1]), *dims[last + 1 :])


#: A target size: a size, or None for the one that is left open.
Target = Number | None


def viewed(dims: Dims, targets: tuple[Target, ...]) -> Dims:
    """The shape of the same elements in the same order, cut into other axes."""
    total = merged(dims)
    if not total.samples:
        return viewed_whole(total, targets)
    if any(target is not None and target.counted for target in targets):
        raise Unclear("a size that depends on the number of samples is not known")
    at = [place for place, one in enumerate(targets) if one is not None and one.samples]
    if len(at) > 1:
        raise Impossible
    left_open = [place for place, one in enumerate(targets) if one is None]
    if len(left_open) > 1:
        raise Impossible
    if not at and not left_open:
        known = product([one.size for one in targets if one is not None])
        if known is not None and not known.symbols:
            raise Unclear("the sizes hold no number of samples")
        raise Unclear("which of the sizes is the number of samples is not known")
    place = at[0] if at else left_open[0]
    lead = product([size_of(one) for one in targets[:place]])
    tail = product([size_of(one) for one in targets[place + 1 :]])
    own = targets[place]
    if own is None:
        dim = open_axis(total, lead, tail)
    else:
        dim = counted_axis(total, lead, tail, own.size, bool(left_open))
    sizes = [Dim(size_of(one)) for one in targets]
    return (*sizes[:place], dim, *sizes[place + 1 :])


def size_of(target: Target) -> Factor | None:
    """A size as a factor."""
    return None if target is None else target.size


def viewed_whole(total: Dim, targets: tuple[Target, ...]) -> Dims:
    """The same for a tensor without samples."""
    if any(target is not None and (target.samples or target.counted) for target in targets):
        raise Unclear("a tensor without samples is cut by the number of samples")
    known = [size_of(one) for one in targets if one is not None]
    rest = product(known)
    left = total.size.over(rest) if total.size is not None and rest is not None else None
    return tuple(Dim(left if one is None else one.size) for one in targets)


def open_axis(total: Dim, lead: Factor | None, tail: Factor | None) -> Dim:
    """The axis whose length is left open, with sizes before and behind it."""
    if lead is None or (total.outer is None and lead != ONE):
        raise Unclear("the sizes before the samples are not known")
    outer = total.outer.over(lead) if total.outer is not None else None
    if total.outer is not None and outer is None:
        if total.outer.symbols or lead.symbols:
            raise Unclear("whether the sizes before the samples are the same is not known")
        raise Mixed("the samples are cut into pieces of another order")
    if total.doubt and total.size != tail:
        raise Unclear("how many rows a sample takes is not known")
    inner = total.size.over(tail) if total.size is not None and tail is not None else None
    if inner is not None:
        return Dim(inner, True, outer, total.doubt)
    if total.size is not None and tail is not None and tail.over(total.size) is not None:
        several = tail.over(total.size)
        if several is not None and not several.symbols and several.number >= MOST_IN_A_ROW:
            raise Impossible
        raise Mixed("a row takes up several samples")
    return Dim(None, True, outer, doubt=True)


def counted_axis(
    total: Dim, lead: Factor | None, tail: Factor | None, own: Factor | None, is_open: bool
) -> Dim:
    """The axis whose length is a multiple of the number of samples."""
    if total.doubt:
        raise Unclear("how many rows a sample takes is not known")
    if lead is not None and lead == ONE and total.outer == ONE:
        return Dim(own, True, ONE)
    if own is None:
        raise Unclear("the sizes are not known")
    if lead is None:
        # The open size stands before: what stands behind must be what lies within a sample.
        if tail is None or total.size is None:
            raise Unclear("the sizes before the samples are not known")
        if tail == total.size and own == ONE:
            return Dim(ONE, True, ONE)
        raise Mixed("the samples are cut into pieces of another order")
    if total.outer is None:
        raise Unclear("the sizes before the samples are not known")
    if lead == total.outer:
        return Dim(own, True, ONE)
    outer = total.outer.over(lead)
    if outer is not None:
        inner = own.over(outer)
        if inner is not None:
            return Dim(inner, True, outer)
    if (lead.symbols or total.outer.symbols) and lead != ONE and total.outer != ONE:
        raise Unclear("whether the sizes before the samples are the same is not known")
    raise Mixed("the number of samples stands at another place than the samples")


def expanded(dims: Dims, targets: tuple[Target, ...]) -> Dims:
    """The shape of a tensor that is repeated along its axes of length one."""
    extra = len(targets) - len(dims)
    if extra < 0:
        raise Impossible
    found = list(targets[:extra])
    made = [axis_of_size(one) for one in found]
    for dim, target in zip(dims, targets[extra:], strict=True):
        if target is None or dim.samples:
            made.append(dim)
        elif dim.size == ONE or target.samples:
            made.append(axis_of_size(target))
        else:
            made.append(Dim(target.size if target.size is not None else dim.size))
    if sum(dim.samples for dim in made) > 1:
        raise Mixed("every sample is put beside every other")
    return tuple(made)


def axis_of_size(target: Target) -> Dim:
    """An axis of a size."""
    if target is None:
        return LENGTH
    if target.counted:
        raise Unclear("a size that depends on the number of samples is not known")
    return Dim(target.size, True) if target.samples else Dim(target.size)


def made(targets: tuple[Target, ...]) -> Dims:
    """The shape of a new tensor of these sizes."""
    dims = tuple(axis_of_size(target) for target in targets)
    if sum(dim.samples for dim in dims) > 1:
        raise Mixed("it holds an entry for every pair of samples")
    return dims
