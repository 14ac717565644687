"""Draws whose result is a plain value, which one process can send to the others."""

from __future__ import annotations

from transpile.facts.events import Event
from transpile.facts.values import Constant, External, Opaque, Sequence, Value
from transpile.plan.graph import called_names

#: Functions that give one number, whatever they are given.
NUMBERS = frozenset(
    f"random.{word}"
    for word in (
        "random", "randint", "randrange", "uniform", "gauss", "normalvariate", "betavariate",
        "expovariate", "triangular", "gammavariate", "lognormvariate", "getrandbits",
    )
)  # fmt: skip
#: Functions of NumPy that give one number where they are given no size, which comes behind so
#: many other arguments.
SIZED = {
    "numpy.random.beta": 2, "numpy.random.uniform": 2, "numpy.random.normal": 2,
    "numpy.random.randint": 2, "numpy.random.binomial": 2, "numpy.random.gamma": 2,
    "numpy.random.random": 0, "numpy.random.rand": 0, "numpy.random.randn": 0,
    "numpy.random.random_sample": 0, "numpy.random.exponential": 1, "numpy.random.poisson": 1,
}  # fmt: skip
#: Functions that take some of what they are given.
CHOOSING = frozenset(
    {
        "random.choice",
        "random.choices",
        "random.sample",
        "numpy.random.choice",
        "numpy.random.permutation",
    }
)


def is_sendable(event: Event) -> bool:
    """Whether a draw gives numbers or strings; tensors are on a device of their own."""
    names = [callee.name for callee in event.callee if isinstance(callee, External)]
    if len(names) != 1 or len(event.callee) != 1:
        return False
    name, given = names[0], event.arguments
    if name in NUMBERS:
        return True
    if name in SIZED:
        return given.get("size", SIZED[name]) is None
    if name in CHOOSING:
        first = given.get("a", 0) or given.get("population", 0) or given.get("seq", 0)
        return first is not None and bool(first.values) and all(map(is_plain, first.values))
    return False


def is_plain(value: Value) -> bool:
    """Whether a value is a number or a string, or holds nothing else."""
    if isinstance(value, Constant):
        return True
    if isinstance(value, Sequence):
        return all(map(is_plain, value.every()))
    return isinstance(value, Opaque) and called_names(value) == ("builtins.range",)
