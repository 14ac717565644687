"""Parts of a batch that its collate function makes of several samples, as normed weights are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from transpile.facts.values import Opaque, Value, Values
from transpile.plan.data.collation import collated_by, returned
from transpile.plan.graph import called_names, method_calls
from transpile.plan.model import Loader, Plan
from transpile.plan.query import query

from ..domain import Kind
from .collation import parts_of

if TYPE_CHECKING:
    from ..analysis import Supposing

MIXED = "the collate function makes it of several samples: each process of those of its share"
#: Words of numbers, such as lengths, that a batch may hold beside its samples.
NUMBERS = frozenset({"max", "min", "len", "sum", "amax", "amin"})


@query
def parts_returned(plan: Plan, loader: Loader) -> dict[object, Values]:
    """What a collate function of the project gives, by position or key; None for one tensor."""
    found: dict[object, list[Value]] = {}
    for function in collated_by(loader):
        for values in returned(plan, function):
            for value in values:
                for key, parts in parts_of(value):
                    found.setdefault(key, []).extend(parts)
    return {key: tuple(values) for key, values in found.items()}


def is_mixed(analysis: Supposing, parts: Values) -> bool:
    """Whether a part of a batch is made of several of its samples."""
    for value in parts:
        found = analysis.look((value,))
        if found.kind is Kind.SAMPLE:
            if found.coupled or found.pending or found.degrees != frozenset({0}):
                return True
        elif found.kind is Kind.UNKNOWN and found.sampled and isinstance(value, Opaque):
            words = {name.rpartition(".")[2] for name in called_names(value)}
            words |= {word for word, _ in method_calls(value)}
            if value.kind == "operation" or (words and not words & NUMBERS):
                return True
    return False
