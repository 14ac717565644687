"""Along which dimension the tensors of a batch count samples, by the loader's collate function."""

from __future__ import annotations

from collections.abc import Iterable

from transpile.facts.values import (
    Constant,
    External,
    Mapping,
    Opaque,
    Sequence,
    Value,
    Values,
)
from transpile.facts.walk import descendants
from transpile.plan.data.collation import collated_by, returned
from transpile.plan.graph import called_names, method_calls, walk_back
from transpile.plan.model import Loader, Plan
from transpile.plan.query import query
from transpile.plan.vocabulary import Batching, Vocabulary

from .. import domain
from .shapes import Given, integer, reshaped

#: Methods that change the order or number of dimensions.
RESHAPES = frozenset(
    {
        "t", "T", "transpose", "permute", "swapaxes", "swapdims", "unsqueeze", "squeeze",
        "transpose_", "t_",
    }
)  # fmt: skip
#: Methods that keep all dimensions.
KEEPS = frozenset(
    {
        "to", "cuda", "cpu", "long", "float", "double", "half", "int", "bool", "byte", "type",
        "contiguous", "clone", "pin_memory", "detach", "numpy", "astype", "copy", "fill_",
        "requires_grad_",
    }
)  # fmt: skip


def collated(plan: Plan, loader: Loader) -> dict[object, int]:
    """Where the tensors of a loader's batches count samples.

    Returns:
        The dimension by position or key, by None for a batch that is one tensor. What is no tensor
        for certain is left out, and so is everything where the project has no collate function.
    """
    words = plan.table.quantities
    found: dict[object, set[int | None]] = {}
    for function in collated_by(loader):
        for values in returned(plan, function):
            for value in values:
                for key, parts in parts_of(value):
                    found.setdefault(key, set()).update(dimension(part, words) for part in parts)
    certain: dict[object, int] = {}
    for key, dimensions in found.items():
        only = common(dimensions)
        if only is not None:
            certain[key] = only
    return certain


@query
def stacked_in(plan: Plan) -> set[int]:
    """The nodes of the collate functions of training loaders, by identity."""
    return {
        id(node)
        for loader in plan.training_loaders
        for function in collated_by(loader)
        for node in descendants(function.node)
    }


def is_stacked(value: Opaque, words: Batching) -> bool:
    """Whether a value is a tensor that a collate function makes of all samples."""
    if value.kind == "call":
        return any(name in words.listed for name in called_names(value))
    if value.kind not in ("item", "element"):
        return False
    for base in value.operands[0]:
        names = called_names(base)
        if words.default & set(names):
            return True
        if "builtins.map" in names and isinstance(base, Opaque) and base.arguments.items:
            return any(
                isinstance(one, External) and one.name in words.stacks
                for one in base.arguments.items[0].values
            )
    return False


def parts_of(value: Value) -> Iterable[tuple[object, Values]]:
    """The parts of a batch by position or key; a batch that is one tensor by None."""
    if isinstance(value, Sequence) and value.kind == "tuple" and not value.rest:
        yield from enumerate(value.elements)
    elif isinstance(value, Mapping):
        for key, entry in value.entries.items():
            yield key, entry.values
    else:
        yield None, (value,)


def dimension(value: Value, words: Vocabulary) -> int | None:
    """The dimension along which a tensor of a batch counts samples; None if unsure."""
    if not isinstance(value, Opaque):
        return None
    for name, receiver in method_calls(value):
        if name in KEEPS or name in RESHAPES:
            behind = common(dimension(one, words) for one in receiver)
            if name in KEEPS or behind is None:
                return behind
            changed = reshaped(
                name.rstrip("_"),
                domain.sample(dim=behind),
                Given(value.arguments, 0),
                lambda values: domain.equal(),
            )
            return changed.dim
    for name in called_names(value):
        if name in words.batching.stacks or name in words.batching.joins:
            return given_dimension(value, 1, 0)
        if name in words.batching.pads:
            first = value.arguments.get("batch_first", 1)
            if first is None or first.values == (Constant(False),):
                return 1
            return 0 if first.values == (Constant(True),) else None
        if name in words.batching.shaped:
            for position, argument in enumerate(value.arguments.positional()):
                if counts_samples(argument.values):
                    return position
                for part in argument.values:
                    if isinstance(part, Sequence):
                        for inner, element in enumerate(part.elements):
                            if counts_samples(element):
                                return inner
            return 0
        if name.startswith(("numpy.", *words.tensors)):
            return 0
    return None


def given_dimension(value: Opaque, position: int, default: int) -> int | None:
    """The dimension that a call is given."""
    for keyword in ("dim", "axis"):
        argument = value.arguments.get(keyword, position)
        if argument is not None:
            found = integer(argument.values)
            return found if found is not None and found >= 0 else None
    return default


def counts_samples(values: Values) -> bool:
    """Whether values are the number of samples: the length of what the function is given."""
    return any(
        isinstance(value, Opaque)
        and value.kind == "operation"
        and value.name == "len"
        and not any(isinstance(one, Opaque) and one.kind == "element" for one in walk_back(values))
        for value in values
    )


def common(found: Iterable[int | None]) -> int | None:
    """The one dimension of several; None where they differ."""
    several = set(found)
    return several.pop() if len(several) == 1 else None
