"""The order in which an index takes the samples of a batch."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.values import Constant, Opaque, Sequence, Value, Values
from transpile.plan.graph import called_names, method_calls
from transpile.plan.model import Plan

#: Steps back from an index to where its numbers come from.
LONGEST_WAY = 20
LISTS = frozenset({"builtins.list", "builtins.sorted", "builtins.reversed", "builtins.range"})
#: Methods that leave each number where it is.
KEEPING = frozenset(
    {"to", "long", "int", "cuda", "cpu", "numpy", "tolist", "clone", "copy", "detach", "contiguous"}
)
REORDERING = "it brings the samples of a batch into another order"


def takes_several(values: Values, plan: Plan) -> bool:
    """Whether an index is a list, an array or a tensor: it takes several samples at once."""
    arrays = ("numpy.", *plan.table.quantities.tensors)
    return any(
        isinstance(source, Sequence)
        or any(name.startswith(arrays) or name in LISTS for name in called_names(source))
        for value in values
        for source in way_back(value)
    )


def keeps_order(values: Values, plan: Plan) -> bool:
    """Whether an index of positions takes the samples in their order, or in one by chance.

    Positions counted up from 0 take each sample where it stands; those drawn at random are others
    in each process, as they are in each run.
    """
    return all(is_in_order(value, plan) or is_by_chance(value, plan) for value in values)


def is_in_order(value: Value, plan: Plan) -> bool:
    """Whether positions go up from 0 one by one, and nothing has moved them."""
    arrays = ("numpy.", *plan.table.quantities.tensors)
    for source in way_back(value):
        if any(
            name.startswith(arrays) and name.endswith(".arange") for name in called_names(source)
        ):
            return is_whole_range(source)
        if not any(name in KEEPING for name, _ in method_calls(source)):
            return False
    return False


def is_whole_range(value: Value) -> bool:
    """Whether a range goes up from 0 one by one."""
    given = value.arguments.positional() if isinstance(value, Opaque) else []
    start = given[0].values if len(given) > 1 else (Constant(0),)
    step = given[2].values if len(given) > 2 else (Constant(1),)
    return start == (Constant(0),) and step == (Constant(1),)


def range_end(value: Value) -> Values:
    """Where a range ends."""
    given = value.arguments.positional() if isinstance(value, Opaque) else []
    return given[0 if len(given) == 1 else 1].values if given else ()


def is_by_chance(value: Value, plan: Plan) -> bool:
    """Whether positions are drawn at random."""
    draws = plan.table.draws | plan.table.index_draws
    return any(name in draws for source in way_back(value) for name in called_names(source))


def way_back(value: Value) -> Iterator[Value]:
    """A value and what it is a part or a function of, by the first of what each step is given."""
    for _ in range(LONGEST_WAY):
        yield value
        if not isinstance(value, Opaque):
            return
        behind: Values = ()
        for _, receiver in method_calls(value):
            behind = receiver
        if not behind and value.kind == "call" and value.arguments.items:
            behind = value.arguments.items[0].values
        if not behind and value.kind in ("attribute", "item", "operation") and value.operands:
            behind = value.operands[0]
        if not behind:
            return
        value = behind[0]
