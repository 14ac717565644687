"""Squares of norms, which are sums over all samples: ``x.norm(2).pow(2)``."""

from __future__ import annotations

from collections.abc import Callable

from transpile.facts.values import Arguments, Constant, Opaque, Value, Values, only_constant
from transpile.plan.graph import called_names, method_calls

from .. import algebra
from ..domain import Kind, Quantity

#: What a norm is told where it is the root of the sum of all squares.
EUCLIDEAN = (Constant(2), Constant(2.0), Constant("fro"), Constant(None))
#: The last words of functions that give it.
WORDS = frozenset({"norm", "vector_norm"})


def squared_norm(look: Callable[[Values], Quantity], made: Values, by: Values) -> Quantity | None:
    """The sum of the squares of samples; None for other powers.

    Args:
        look: gives the quantity of values.
        made: what is taken to a power.
        by: the power.
    """
    exponent = only_constant(by)
    if not made or exponent is None or exponent.value != 2:
        return None
    found: Quantity | None = None
    for value in made:
        tensor = look(tensor_of(value))
        if tensor.kind is not Kind.SAMPLE or tensor.degrees != frozenset({0}):
            return None
        total = algebra.total(tensor)
        found = total if found is None else algebra.join(found, total)
    return found


def tensor_of(value: Value) -> Values:
    """The tensor of whose entries a value is the euclidean norm; empty for other values."""
    if not isinstance(value, Opaque) or value.kind != "call":
        return ()
    for word, receiver in method_calls(value):
        if word == "norm" and is_euclidean(value.arguments, 0):
            return receiver
    words = {name.rpartition(".")[2] for name in called_names(value)}
    if WORDS.isdisjoint(words) or not value.arguments.items:
        return ()
    return value.arguments.items[0].values if is_euclidean(value.arguments, 1) else ()


def is_euclidean(arguments: Arguments, first: int) -> bool:
    """Whether a norm is told of no axis, and of no other power than 2."""
    given = arguments.positional()[first:]
    named = [item for item in arguments.items if item.keyword is not None]
    if len(given) > 1 or any(item.keyword not in ("p", "ord") for item in named):
        return False
    return all(only_constant(item.values) in EUCLIDEAN for item in (*given, *named))
