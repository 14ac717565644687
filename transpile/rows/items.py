"""What ``tensor[index]`` gives and what storing there does."""

from __future__ import annotations

from transpile.facts.values import Constant

from .bound import pointwise, tensor_of
from .domain import (
    LENGTH,
    NONE,
    ONE,
    SAMPLES,
    UNIT,
    Coupled,
    Dim,
    Factor,
    Group,
    Held,
    Input,
    Known,
    Number,
    Record,
    Tensor,
    Unknown,
)
from .shapes import Dims, Impossible, Mixed, Unclear, broadcast
from .state import Running

ELLIPSIS = Constant("...")
NAMED = "places that samples name are picked out of other samples"
PICKED = "some of the samples are picked out"
NOT_KNOWN = "whether a sample or a part of the batch is picked by its place is not known"
BY_PLACE = "its values depend on where in the batch a sample stands"


def whole_number(value: Known | None) -> int | None:
    """A whole number that is known."""
    known = value.value if isinstance(value, Constant) else None
    return known if isinstance(known, int) else None


def is_slice(entry: Known) -> bool:
    """Whether an entry of an index is a slice."""
    return isinstance(entry, Record) and bool(entry.entries) and entry.entries[0][0] == "slice"


def sliced(dim: Dim, entry: Record) -> Dim:
    """The part of an axis that a slice takes."""
    lower, upper, step = (entry.get(name) for name in ("lower", "upper", "step"))
    lower = None if lower in (NONE, Constant(0)) else lower
    upper = None if upper == NONE else upper
    if lower is None and upper is None and step in (None, NONE, Constant(1)):
        return dim
    if not dim.samples:
        return part_of(dim, lower, upper, step)
    own = Number(ONE, True)
    if dim.outer == Factor(2) and dim.size == ONE and step is None:
        if (lower is None and upper == own) or (upper is None and lower == own):
            return SAMPLES
    if dim.plain and lower is None and upper == own and step is None:
        return dim
    raise Mixed("a part of the samples is cut out")


def part_of(dim: Dim, lower: Known | None, upper: Known | None, step: Known | None) -> Dim:
    """The part of an axis without samples."""
    if dim != UNIT and any(depends_on_count(bound) for bound in (lower, upper)):
        raise Mixed(BY_PLACE, "count")
    if step not in (None, NONE, Constant(1)):
        return LENGTH
    first = 0 if lower is None else whole_number(lower)
    last = whole_number(upper)
    length = dim.size.number if dim.size is not None and not dim.size.symbols else None
    if isinstance(upper, Number) and lower is None and not upper.samples and not upper.counted:
        # Most often as long as what it is added to; a longer one is cut at its end.
        return Dim(upper.size)
    if not isinstance(first, int) or (upper is not None and not isinstance(last, int)):
        return LENGTH
    if length is None:
        if isinstance(last, int) and last >= 0 and first >= 0:
            return LENGTH
        return Dim(Factor(-first)) if upper is None and first < 0 and first == -1 else LENGTH
    return Dim(Factor(len(range(length)[first : last if upper is not None else None])))


def depends_on_count(bound: Known | None) -> bool:
    """Whether a bound is made of how many samples there are."""
    return isinstance(bound, Number) and (bound.samples or bound.counted)


def picked(run: Running, base: Tensor, index: tuple[Known, ...]) -> Tensor:
    """``tensor[index]``."""
    if base.dims is None:
        return picked_whole(run, index)
    entries = spread(run, base.dims, index)
    dims: list[Dim] = []
    tensors: list[tuple[int, Dim, Tensor]] = []
    front: int | None = None
    place = 0
    for entry in entries:
        if entry == NONE:
            dims.append(UNIT)
            continue
        if is_mask(entry):
            raise Unclear("entries are picked by a condition")
        if place >= len(base.dims):
            raise Impossible
        dim = base.dims[place]
        place += 1
        if is_slice(entry):
            bounds = (entry.get(name) for name in ("lower", "upper", "step"))  # type: ignore[union-attr]
            if not base.whole and any(isinstance(b, Number) and b.drawn for b in bounds):
                raise Mixed("one random draw serves all samples of the batch", "noise")
            dims.append(sliced(dim, entry))  # type: ignore[arg-type]
        elif isinstance(entry, (Constant, Number)) or is_scalar(run, entry):
            if dim.samples:
                raise Mixed("one sample is picked out of the batch")
            if isinstance(entry, Number) and (entry.samples or entry.counted):
                raise Mixed("a place depends on the number of samples", "count")
            if isinstance(entry, Number) and entry.drawn:
                raise Mixed("one random draw serves all samples of the batch", "noise")
        else:
            tensors.append((len(dims), dim, tensor_of(run, entry)))
            front = len(dims) if front is None else front
            dims.append(UNIT)
    dims.extend(base.dims[place:])
    return (
        gathered(base, dims, tensors) if tensors else Tensor(tuple(dims), base.places, base.drawn)
    )


def is_mask(entry: Known) -> bool:
    """Whether an entry is a condition rather than places."""
    return isinstance(entry, Tensor) and entry.mask


def is_scalar(run: Running, entry: Known) -> bool:
    """Whether an entry is a single number."""
    return isinstance(entry, (Held,)) or (isinstance(entry, Tensor) and entry.dims == ())


def picked_whole(run: Running, index: tuple[Known, ...]) -> Tensor:
    """The same of a tensor without samples of unknown rank."""
    if any(run.sampled(entry) for entry in index):
        raise Unclear("the shape of a tensor that samples are looked up in is not known")
    return Tensor(None)


def spread(run: Running, dims: Dims, index: tuple[Known, ...]) -> list[Known]:
    """The entries of an index, an ellipsis spread out."""
    held = [run.held(run.settle(entry)) for entry in index]
    used = sum(entry not in (NONE, ELLIPSIS) for entry in held)
    for entry in held:
        if isinstance(entry, Tensor) and entry.mask and entry.dims is not None:
            used += len(entry.dims) - 1
    found: list[Known] = []
    for entry in held:
        if entry == ELLIPSIS:
            found.extend([Record((("slice", NONE),))] * (len(dims) - used))
        else:
            found.append(entry)
    if used > len(dims):
        raise Impossible
    return found


def gathered(base: Tensor, dims: list[Dim], tensors: list[tuple[int, Dim, Tensor]]) -> Tensor:
    """What tensors of places pick."""
    shape: Dims = ()
    for _, _, tensor in tensors:
        if tensor.dims is None:
            if base.whole:
                return Tensor(None)
            raise Unclear("the shape of what picks entries is not known")
        shape = broadcast(shape, tensor.dims)
    own = [(dim, tensor) for _, dim, tensor in tensors if dim.samples]
    sampled = any(dim.samples for dim in shape)
    if own:
        if not own[0][1].places or not own[0][0].plain:
            raise Mixed(NAMED if sampled else PICKED)
    elif not base.whole and sampled:
        raise Mixed(NAMED)
    elif base.whole and any(tensor.places for _, _, tensor in tensors):
        raise Mixed(BY_PLACE, "count")
    places = [place for place, _, _ in tensors]
    together = places == list(range(places[0], places[0] + len(places)))
    others = [dim for place, dim in enumerate(dims) if place not in places]
    at = places[0] if together else 0
    made = (*others[:at], *shape, *others[at:])
    if sum(dim.samples for dim in made) > 1:
        raise Mixed("every sample is looked up for every other")
    return Tensor(made)


def stored(run: Running, base: Tensor, index: tuple[Known, ...], value: Known) -> None:
    """What ``tensor[index] = value`` does: it raises where samples come together."""
    if isinstance(value, Coupled):
        raise Mixed(value.reason, value.cause)
    if isinstance(value, Unknown):
        raise Unclear(value.reason, value.cause)
    if base.whole:
        if run.sampled(value) or any(run.sampled(entry) for entry in index):
            raise Mixed("samples are written into a tensor that has none of its own", "state")
        return
    masks = [entry for entry in index if isinstance(entry, Tensor) and entry.mask]
    if masks and len(index) == 1:
        pointwise(run, "store", base, masks[0])
        if isinstance(value, Tensor) and value.dims not in ((), None):
            raise Unclear("entries are replaced by a condition")
        tensor_of(run, value)
        return
    place = picked(run, base, index)
    written = tensor_of(run, value)
    if written.dims is None:
        raise Unclear("the shape of what is stored is not known")
    if not written.whole and written.dims is not None and place.dims is not None:
        if place.whole:
            raise Mixed("a part of the samples is written over")
        broadcast(place.dims, written.dims)


def element(base: Tensor) -> Known:
    """What iterating over a tensor gives."""
    if base.dims is None:
        return Tensor(None)
    if not base.dims:
        raise Impossible
    if base.dims[0].samples:
        raise Unclear("the samples are gone through one by one")
    return Tensor(base.dims[1:], drawn=base.drawn)


def item_of_container(run: Running, held: Group | Record, index: tuple[Known, ...]) -> Known:
    """``base[index]`` of a list, tuple or dict."""
    from .domain import PLAIN, choice

    key = index[0] if index else PLAIN
    if isinstance(held, Record):
        if isinstance(key, Constant):
            found = held.get(key.value)
            count = len(held.entries)
            if found is None and isinstance(key.value, int) and -count <= key.value < count:
                found = held.entries[key.value][1]
            if found is not None:
                return found
            if held.rest is None:
                raise Impossible
            return held.rest
        every = [value for _, value in held.entries]
        rest = [held.rest] if held.rest is not None else []
        return choice(*every, *rest)
    rest = [held.rest] if held.rest is not None else []
    if is_slice(key):
        bounds = [key.get(name) for name in ("lower", "upper", "step")]  # type: ignore[union-attr]
        if not rest and all(one is None or isinstance(one, Constant) for one in bounds):
            numbers = [whole_number(one) for one in bounds]
            return Group(held.elements[slice(*numbers)])
        return Group((), choice(*held.elements, *rest)) if held.elements or rest else Group()
    if isinstance(key, Constant) and isinstance(key.value, int):
        if not rest:
            if not -len(held.elements) <= key.value < len(held.elements):
                raise Impossible
            return held.elements[key.value]
        if 0 <= key.value < len(held.elements):
            return held.elements[key.value]
    if run.sampled(key):
        raise Mixed("what is picked depends on the values of the samples")
    if isinstance(key, Number) and key.drawn:
        raise Mixed("one random draw serves all samples of the batch", "noise")
    if not held.elements and not rest:
        raise Impossible
    return choice(*held.elements, *rest)


def part_of_input(given: Input, key: object) -> Input:
    """What stands in an input at a place or under a key, where it is no tensor."""
    return Input(f"{given.name}.{key}", given.axis, given.open)


def unpacked(value: Known, wanted: int) -> Known:
    """What is unpacked to several targets: no tensor, where it may be something else.

    A share of a batch that is a tensor would have other samples to unpack than the batch.
    """
    if isinstance(value, Input) and value.open and value.axis == 0:
        return Group(tuple(part_of_input(value, place) for place in range(wanted)))
    return value


def picked_of_input(run: Running, base: Known, index: tuple[Known, ...]) -> Known | None:
    """``base[index]`` of what is no tensor, or may be none; None for what is taken for one."""
    key = index[0] if len(index) == 1 else None
    if not isinstance(base, Input) or not isinstance(key, Constant):
        return None
    if isinstance(key.value, str) and key.value != "...":
        return part_of_input(base, key.value)
    if base.open and base.axis == 0 and type(key.value) is int:
        return run.unknown(NOT_KNOWN, "layout")
    return None
