"""Which values gradients flow back through on their way from a loss."""

from __future__ import annotations

from transpile.facts.values import Constant, Function, Instance, Opaque, Value
from transpile.plan.graph import called_names, method_calls, walk_back
from transpile.plan.model import Plan
from transpile.plan.query import query

#: Functions, methods and attributes behind which no gradient flows back: they cut it off, or give
#: places, sizes and truth values.
CUTS = frozenset(
    {
        "detach", "detach_", "item", "tolist", "numpy", "data", "argsort", "argmax", "argmin",
        "argwhere", "nonzero", "bincount", "searchsorted", "bucketize", "multinomial", "eq", "ne",
        "lt", "le", "gt", "ge", "equal", "isclose", "isnan", "isinf", "isfinite", "logical_and",
        "logical_or", "logical_not", "long", "int", "bool", "size", "numel", "dim", "shape",
        "indices", "len", "LessThan", "LessThanEqual", "GreaterThan", "GreaterThanEqual", "Equal",
        "NotEqual", "tensor", "from_numpy", "array", "asarray",
    }
)  # fmt: skip
#: Those that give values and, behind them, where these stood.
WITH_PLACES = frozenset({"topk", "sort", "max", "min", "median", "kthvalue", "mode", "cummax"})


@query
def reached_by_gradients(plan: Plan) -> set[int]:
    """The identities of all values that gradients of a loss flow back to."""
    losses = tuple(value for backward in plan.backwards for value in backward.loss)
    return {id(value) for value in walk_back(losses, lets_gradients_through)}


def lets_gradients_through(value: Value) -> bool:
    """Whether gradients may flow back from a value to what it was made of."""
    if isinstance(value, (Instance, Function)):
        return False
    if isinstance(value, Opaque) and value.kind in ("attribute", "operation"):
        return value.name not in CUTS
    if isinstance(value, Opaque) and value.kind == "item" and value.index == (Constant(1),):
        return not any(words_of(base) & WITH_PLACES for base in value.operands[0])
    return words_of(value).isdisjoint(CUTS)


def words_of(value: Value) -> set[str]:
    """The last words of the functions and methods that a call may be of."""
    names = {name.rpartition(".")[2] for name in called_names(value)}
    return names | {name for name, _ in method_calls(value)}
