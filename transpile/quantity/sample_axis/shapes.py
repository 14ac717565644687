"""Along which dimension a tensor counts the samples, after it was reshaped or indexed."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import libcst as cst

from transpile.facts.values import (
    Arguments,
    Opaque,
    Sequence,
    Values,
    only_constant,
)
from transpile.plan.graph import called_names
from transpile.plan.model import Plan
from transpile.records import dataclass, replace

from ..domain import Kind, Quantity, unknown
from .orders import REORDERING, is_whole_range, keeps_order, range_end, takes_several

Look = Callable[[Values], Quantity]

#: Words that change the order or number of dimensions.
RESHAPES = frozenset(
    {
        "view", "reshape", "unsqueeze", "expand_dims", "squeeze", "transpose", "swapaxes",
        "swapdims", "permute", "t", "T", "mT", "H", "adjoint", "flatten",
        "ravel", "movedim", "moveaxis", "unflatten", "rearrange", "newaxis",
    }
)  # fmt: skip


#: Repeat a tensor along its dimensions, and along new ones in front of them.
SPREADING = frozenset({"expand", "repeat", "tile"})

#: Parameters that take all sizes or dimensions.
WHOLE = ("shape", "size", "perm", "axes", "repeat_times", "reps")
#: Other words for parameters.
SYNONYMS = {
    "dim": ("axis", "dims", "axes"),
    "start_dim": ("start_axis",),
    "keepdim": ("keepdims", "keep_dim"),
    "other": ("y",),
    "min": ("a_min",),
    "max": ("a_max",),
    "index": ("indices",),
    "transpose_x": ("transpose_a",),
    "transpose_y": ("transpose_b",),
}


@dataclass(frozen=True)
class Given:
    """The arguments behind the tensor that a function or method works on.

    Args:
        arguments: all arguments of the call.
        offset: how many positional ones stand for the tensor: 1 for functions, 0 for methods.
        order: the parameters behind the tensor, where the analysis supposes others.
        default: the dimension where none is given, where the analysis supposes another.
    """

    arguments: Arguments
    offset: int
    order: tuple[str, ...] = ()
    default: int | None = None

    def get(self, name: str, position: int | None) -> Values:
        """The values of an argument by keyword or by position behind the tensor."""
        if self.order:
            position = self.order.index(name) if name in self.order else None
        place = None if position is None else position + self.offset
        found = self.arguments.get(name, place)
        for other in SYNONYMS.get(name, ()):
            found = found or self.arguments.keyword(other)
        return found.values if found is not None else ()

    def positional(self) -> list[Values]:
        """The positional arguments behind the tensor; one tuple or list is spread."""
        given = [item.values for item in self.arguments.positional()[self.offset :]]
        if not given:
            given = [found for name in WHOLE if (found := self.get(name, None))]
        if len(given) == 1 and len(given[0]) == 1 and isinstance(given[0][0], Sequence):
            inside = given[0][0]
            return [*inside.elements, inside.rest] if inside.rest else list(inside.elements)
        return given

    def all_sizes(self) -> list[Values]:
        """What a function without a tensor is given, one by one or in one tuple or list."""
        given = [item.values for item in self.arguments.positional()]
        if len(given) == 1 and len(given[0]) == 1 and isinstance(given[0][0], Sequence):
            return [] if given[0][0].rest else list(given[0][0].elements)
        return given

    def dims(self, position: int = 0) -> tuple[int, ...] | None:
        """The dimensions that a reduction names; empty for none, None where they are not known."""
        values = self.get("dim", position)
        if not values and self.default is not None:
            return (self.default,)
        return integers(values) if values else ()


def integers(values: Values) -> tuple[int, ...] | None:
    """An integer or a tuple of integers; None where it is something else."""
    constant = only_constant(values)
    if constant is not None:
        if constant.value is None:
            return ()
        return (constant.value,) if isinstance(constant.value, int) else None
    if len(values) == 1 and isinstance(values[0], Sequence) and not values[0].rest:
        parts = [integers(element) for element in values[0].elements]
        if all(part is not None and len(part) == 1 for part in parts):
            return tuple(part[0] for part in parts if part)
    return None


def integer(values: Values) -> int | None:
    """A single integer; None for anything else."""
    found = integers(values)
    return found[0] if found is not None and len(found) == 1 else None


def reshaped(
    word: str,
    tensor: Quantity,
    given: Given,
    look: Look,
    kept: frozenset[int] = frozenset(),
) -> Quantity:
    """A tensor of samples after a change of its shape."""
    if word in ("view", "reshape"):
        shape = given.positional()
        found = replace(tensor, dim=viewed(tensor, shape, look, kept))
        return replace(found, rank=len(shape)) if shape else found
    dim = tensor.dim
    ordered = given.positional()
    if dim is None:
        return tensor
    if word in ("t", "T", "H"):
        return replace(tensor, dim={0: 1, 1: 0}.get(dim))
    if word.startswith(("unsqueeze", "expand_dims")):
        at = integer(given.get("dim", 0))
        if at is None:
            return replace(tensor, dim=None)
        if at < 0 and tensor.rank + 1 + at <= dim:
            return replace(tensor, dim=None, rank=tensor.rank + 1)
        return replace(tensor, dim=dim + 1 if 0 <= at <= dim else dim, rank=tensor.rank + 1)
    if word.startswith("squeeze"):
        at = integer(ordered[0]) if ordered else None
        found = replace(tensor, rank=max(1, tensor.rank - 1) if ordered else 1)
        if at is not None and at >= 0:
            return replace(found, dim=dim - 1 if at < dim else dim)
        if at is not None and tensor.rank + at > dim:
            return found
        return replace(found, dim=0 if dim == 0 else None)
    if word.startswith(("transpose", "swap")) and len(ordered) == 2:
        first, second = integer(ordered[0]), integer(ordered[1])
        if first is None or second is None:
            return replace(tensor, dim=None)
        if any(at < 0 and tensor.may_count_along(at) for at in (first, second)):
            return replace(tensor, dim=None)
        if dim in (first, second):
            other = second if dim == first else first
            return replace(tensor, dim=other if other >= 0 else None)
        return tensor
    if word in ("permute", "transpose"):
        order = [integer(values) for values in ordered]
        found = replace(tensor, dim=order.index(dim) if dim in order else None)
        return replace(found, rank=max(found.rank, len(order)))
    if word in ("flatten", "ravel"):
        start = integer(given.get("start_dim", 0)) or given.default or 0
        if not ordered and not start and not given.arguments.items[given.offset :]:
            tensor = replace(tensor, rank=1)
        if dim == 0:
            return tensor
        return replace(tensor, dim=dim if start > dim else (0 if start == 0 else None))
    if word in ("mT", "adjoint"):
        turned = tensor.may_count_along(-1) or tensor.may_count_along(-2)
        return replace(tensor, dim=None) if turned else tensor
    return replace(tensor, dim=None)


GROUPED = "'{}' puts samples that stand beside each other into one row"


def regroups(
    tensor: Quantity,
    shape: list[Values],
    rows: Fraction | None,
    widths: frozenset[int],
    look: Look,
) -> bool:
    """Whether a view may put several samples into a row, or cut the batch into a number of rows.

    Args:
        tensor: what is viewed.
        shape: the sizes that are asked for.
        rows: how many rows the view has for each sample; None if unknown.
        widths: the numbers that layers are made of: no row of a size among them has two samples.
        look: tells what a size is.
    """
    if tensor.dim != 0:
        return False
    if rows is not None:
        return rows.denominator != 1
    if len(shape) < 2:
        return False
    if is_fraction_of_count(shape[0], look):
        return True
    sizes = [integer(values) for values in shape]
    if sizes.count(-1) != 1 or any(look(values).degree != 0 for values in shape):
        return False
    if sizes[0] == -1:
        return len(sizes) == 2 and sizes[1] is not None and sizes[1] not in {1, *widths}
    return sizes[0] is not None and sizes[0] > 1


def is_fraction_of_count(size: Values, look: Look) -> bool:
    """Whether a size is a part of the number of samples, such as half of them."""
    return any(
        isinstance(value, Opaque)
        and value.kind == "operation"
        and value.name in ("FloorDivide", "Divide")
        and look(value.operands[0]).is_count
        and look(value.operands[1]).degree == 0
        for value in size
    )


def viewed(tensor: Quantity, shape: list[Values], look: Look, kept: frozenset[int]) -> int | None:
    """Where the samples are counted in a view of the given shape."""
    if not shape:
        return tensor.dim
    for position, values in enumerate(shape):
        part = look(values)
        if part.kind is Kind.SHAPE:
            return part.dim
        if part.kind is Kind.EQUAL and part.degree == 1:
            return position
    if tensor.dim is not None and tensor.dim < len(shape):
        own = [integer(values) for values in shape[: tensor.dim + 1]]
        if all(size in kept for size in own):
            return tensor.dim
    first = only_constant(shape[0])
    rest = [position for position, values in enumerate(shape) if integer(values) == -1]
    if first is None and rest and tensor.dim:
        # The samples were not counted first, and nothing says that they are now.
        return rest[0]
    if first is None or first.value == -1:
        return 0
    return rest[0] if rest and first.value == 1 else None


SOME_SIZE = "the size that it takes may be the number of samples"
PIECES = "it handles the samples of a batch one by one"


def piece(tensor: Quantity) -> Quantity:
    """One of the samples, as a loop over them gives it, or an index that picks one."""
    return replace(unknown(PIECES), content="one", selection=tensor.selection)


def spread(word: str, tensor: Quantity, given: Given, look: Look) -> Quantity:
    """A tensor of samples after ``expand``, ``repeat`` or ``tile``, which may add dimensions."""
    sizes = given.positional()
    if tensor.kind is not Kind.SAMPLE or tensor.dim is None or word not in SPREADING:
        return tensor
    if len(sizes) <= tensor.rank:
        return tensor
    known = integer(sizes[0])
    if word == "expand" and (known == -1 or look(sizes[0]).degree == 1):
        # Sizes that are kept are those of dimensions that are there.
        return replace(tensor, rank=len(sizes))
    return replace(tensor, dim=None, rank=len(sizes))


def indexed(tensor: Quantity, node: cst.Subscript, plan: Plan, look: Look) -> Quantity:
    """A tensor of samples after ``tensor[...]``."""
    values_of = plan.facts.values_of
    dim = tensor.dim
    place = 0
    removed = 0
    added = 0
    behind = 0
    picked_by_number = 0
    result = tensor
    for element in node.slice:
        part = element.slice
        if isinstance(part, cst.Slice):
            if place == dim and (part.lower or part.upper or part.step):
                bounds = [values_of(b) for b in (part.lower, part.upper) if b is not None]
                if any(goes_round(bound) for bound in bounds):
                    return unknown(PIECES)
                chosen = [look(bound) for bound in bounds]
                picked = [one for one in chosen if one.kind is Kind.UNKNOWN and one.sampled]
                if picked:
                    return replace(picked[0], whole=False)
            place += 1
            continue
        inner = part.value if isinstance(part, cst.Index) else None
        if isinstance(inner, cst.Ellipsis):
            break
        if isinstance(inner, cst.Name) and inner.value == "None":
            behind += dim is None or place > dim
            added += dim is not None and place <= dim
            continue
        values = values_of(inner) if inner is not None else ()
        index = look(values)
        if index.kind is Kind.SAMPLE:
            if place == dim and index.content not in ("index", "place"):
                return replace(result, selection=True, dim=dim + added - removed)
            if place == dim and not keeps_order(values, plan):
                return unknown(REORDERING)
        elif place == dim and goes_through_all(values, look):
            pass
        elif index.kind is Kind.UNKNOWN:
            return replace(index, sampled=True)
        elif place == dim and is_single(index):
            return unknown(REORDERING) if takes_several(values, plan) else piece(tensor)
        elif dim is not None and place < dim:
            removed += 1
        picked_by_number += is_single(index) and not takes_several(values, plan)
        place += 1
    if result.dim is None:
        return result
    rank = max(tensor.rank, place) + added + behind - picked_by_number
    return replace(result, dim=result.dim + added - removed, rank=max(1, rank))


def goes_round(bound: Values) -> bool:
    """Whether a bound of a slice is another one in each round of a loop over a range."""
    return any(
        isinstance(value, Opaque)
        and value.kind == "element"
        and any("builtins.range" in called_names(source) for source in value.operands[0])
        for value in bound
    )


def goes_through_all(index: Values, look: Look) -> bool:
    """Whether an index is a range over all samples, ``range(len(batch))``.

    What else the range ends at belongs to other batches, such as those of an evaluation.
    """
    return all(
        isinstance(value, Opaque)
        and "builtins.range" in called_names(value)
        and is_whole_range(value)
        for value in index
    ) and any(look(range_end(value)).degree == 1 for value in index)


def is_single(index: Quantity) -> bool:
    """Whether an index picks a single entry."""
    return index.kind in (Kind.EQUAL, Kind.NOTHING)
