"""Operations that repeat tensors and put them together."""

from __future__ import annotations

from .bound import Bound, tensor_of
from .cutting import with_axis
from .domain import LENGTH, ONE, PLAIN, UNIT, Dim, Factor, Group, Known, Number, Tensor
from .moving import guess
from .shapes import (
    Dims,
    Impossible,
    Mixed,
    Unclear,
    broadcast,
    position,
    sample_axis,
)


def repeats(bound: Bound) -> Known:
    """Several copies behind each other."""
    tensor = bound.tensor("input")
    if tensor.dims is None:
        return Tensor(None) if tensor.whole else guess(tensor)
    times = bound.sizes("size")
    if len(times) < len(tensor.dims):
        if bound.word == "tile":
            times = (*((Number(ONE),) * (len(tensor.dims) - len(times))), *times)
        else:
            raise Impossible
    dims = ((UNIT,) * (len(times) - len(tensor.dims))) + tensor.dims
    found = []
    for dim, number in zip(dims, times, strict=True):
        if number is None or number.counted:
            raise Unclear("how often it is repeated is not known")
        if number.samples:
            if dim.samples:
                raise Mixed("every sample is repeated for every other")
            found.append(Dim(dim.size.times(number.size), True, ONE)
                         if dim.size == ONE and number.size is not None
                         else Dim(number.size, True, dim.size))  # fmt: skip
        elif dim.samples:
            outer = dim.outer.times(number.size) if dim.outer and number.size else None
            found.append(Dim(dim.size, True, outer, dim.doubt))
        else:
            size = dim.size.times(number.size) if dim.size and number.size else None
            found.append(Dim(size))
    if sum(dim.samples for dim in found) > 1:
        raise Mixed("every sample is put beside every other")
    return Tensor(tuple(found), drawn=tensor.drawn)


def interleaves(bound: Bound) -> Known:
    """Each entry along an axis several times."""
    tensor = bound.tensor("input")
    if tensor.dims is None:
        return Tensor(None) if tensor.whole else guess(tensor)
    times = bound.sizes("repeats")[0]
    place = position(bound.axis("dim"), len(tensor.dims))
    dim = tensor.dims[place]
    if times is None or times.samples or times.counted:
        raise Unclear("how often it is repeated is not known")
    size = dim.size.times(times.size) if dim.size is not None and times.size is not None else None
    return with_axis(tensor, place, Dim(size, dim.samples, dim.outer, dim.doubt))


def joins(bound: Bound) -> Known:
    """Tensors one behind the other along an axis."""
    parts, rest = tensors_in(bound)
    every = [*parts, *([rest] if rest is not None else [])]
    if not every:
        raise Impossible
    if all(one.whole for one in every):
        return joined_whole(bound, every)
    if any(one.dims is None for one in every):
        raise Unclear("the shape of a tensor that is put together with samples is not known")
    ranks = {len(one.dims or ()) for one in every}
    if len(ranks) > 1:
        raise Impossible
    rank = ranks.pop()
    place = position(bound.axis("dim", 0), rank)
    at = {one.axis for one in every}
    if at == {place}:
        first_dim = every[0].dims[place]  # type: ignore[index]
        if rest is None and all(one.dims[place] == Dim(ONE, True) for one in every):  # type: ignore[index]
            return with_axis(every[0], place, Dim(ONE, True, Factor(len(parts))))
        if len(every) == 1 and rest is None:
            return with_axis(every[0], place, first_dim)
        raise Unclear("how often the samples are put one behind the other is not known")
    if place in at or len(at - {None}) > 1:
        raise Mixed("samples are put behind what is no sample along their axis")
    if None in at:
        raise Unclear("samples are put together with a tensor that is not repeated for each")
    axis = next(iter(at))
    dims: Dims = every[0].dims or ()
    for one in every[1:]:
        dim = meet_samples(dims[axis], (one.dims or ())[axis])  # type: ignore[index]
        dims = tuple(dim if where == axis else d for where, d in enumerate(dims))
    total: Factor | None = Factor(0)
    for one in every:
        length = (one.dims or ())[place].size
        if total is None or length is None or length.symbols:
            total = None
        else:
            total = Factor(total.number + length.number)
    found = Dim(total if rest is None else None)
    return Tensor(tuple(found if where == place else d for where, d in enumerate(dims)))


def meet_samples(one: Dim, other: Dim) -> Dim:
    """The sample axis of two tensors that are put together along another."""
    from .shapes import meet

    return meet(one, other)


def joined_whole(bound: Bound, every: list[Tensor]) -> Tensor:
    """Tensors without samples one behind the other."""
    dims = every[0].dims
    if dims is None or any(one.dims is None or len(one.dims) != len(dims) for one in every):
        return Tensor(None, drawn=any(one.drawn for one in every))
    place = position(bound.axis("dim", 0), len(dims)) if dims else 0
    return Tensor(
        tuple(LENGTH if where == place else dim for where, dim in enumerate(dims)),
        drawn=any(one.drawn for one in every),
    )


def stacks(bound: Bound) -> Known:
    """Tensors beside each other along a new axis."""
    parts, rest = tensors_in(bound)
    every = [*parts, *([rest] if rest is not None else [])]
    if not every:
        raise Impossible
    if any(one.dims is None for one in every):
        if all(one.whole for one in every):
            return Tensor(None)
        raise Unclear("the shape of a tensor that is put together with samples is not known")
    if len({len(one.dims or ()) for one in every}) > 1:
        raise Impossible
    at = {one.axis for one in every}
    if len(at) > 1:
        if None in at:
            raise Unclear("samples are put together with a tensor that is not repeated for each")
        raise Mixed("the samples stand along different axes")
    dims = every[0].dims or ()
    for one in every[1:]:
        dims = broadcast(dims, one.dims or ())
    place = position(bound.axis("dim", 0), len(dims) + 1)
    new_axis = Dim(Factor(len(parts))) if rest is None else LENGTH
    return Tensor((*dims[:place], new_axis, *dims[place:]), drawn=any(one.drawn for one in every))


def tensors_in(bound: Bound) -> tuple[list[Tensor], Tensor | None]:
    """The tensors of a list, and what else may be in it."""
    given = bound.get("input")
    if isinstance(given, Tensor):
        if given.dims and not given.dims[0].samples:
            return [], Tensor(given.dims[1:])
        raise Unclear("the samples are gone through one by one")
    if not isinstance(given, Group):
        raise Unclear("what is put together is not known")
    parts = [spread_choice(bound, one) for one in given.elements]
    return parts, spread_choice(bound, given.rest) if given.rest is not None else None


def spread_choice(bound: Bound, value: Known) -> Tensor:
    """A tensor that may be one of several of the same shape."""
    from .domain import Choice, Coupled, Unknown

    if isinstance(value, Coupled):
        raise Mixed(value.reason, value.cause)
    if isinstance(value, Unknown):
        raise Unclear(value.reason, value.cause)
    if isinstance(value, Choice):
        raise Unclear("tensors of different shapes are put together")
    return tensor_of(bound.run, value)


def diagonals(bound: Bound) -> Known:
    """What is taken from, or put on, a diagonal of the last axes or of the first two."""
    tensor = bound.tensor("input")
    if tensor.dims is None:
        return Tensor(None)
    if bound.word == "diag_embed":
        at = sample_axis(tensor.dims)
        if at == len(tensor.dims) - 1:
            raise Mixed("it holds an entry for every pair of samples")
        return Tensor((*tensor.dims, tensor.dims[-1]))
    defaults = (0, 1)
    if bound.word == "diag" and len(tensor.dims) == 1:
        if not tensor.whole:
            raise Mixed("it holds an entry for every pair of samples")
        return Tensor((tensor.dims[0], tensor.dims[0]))
    one, other = bound.axis("dim1", defaults[0]), bound.axis("dim2", defaults[1])
    gone = {position(one, len(tensor.dims)), position(other, len(tensor.dims))}
    if any(tensor.dims[place].samples for place in gone):
        raise Mixed("the samples are paired along a diagonal")
    left = [dim for place, dim in enumerate(tensor.dims) if place not in gone]
    return Tensor((*left, LENGTH))


def last_two(bound: Bound) -> Known:
    """What works on the matrices of the last two axes."""
    tensor = bound.tensor("input")
    if tensor.dims is None:
        return tensor
    if len(tensor.dims) < 2:
        raise Impossible
    if any(dim.samples for dim in tensor.dims[-2:]):
        raise Mixed(f"'{bound.word}' combines the samples of the batch")
    return tensor


def asks(bound: Bound) -> Known:
    """Something that does not depend on the samples."""
    return PLAIN


def refuses(bound: Bound) -> Known:
    """What takes all samples of the batch together."""
    if any(bound.run.sampled(value) for value in bound.values.values()):
        raise Mixed(f"'{bound.word}' looks at all samples of the batch at once")
    return PLAIN
