"""Going back through values, each once, also where they depend on themselves."""

from __future__ import annotations

from abc import ABC, abstractmethod

from transpile.facts.values import (
    Constant,
    Generator,
    Mapping,
    Opaque,
    Sequence,
    Unknown,
    Value,
    Values,
)
from transpile.plan.graph import parents

from .domain import EQUAL, NOTHING, Quantity, join, unknown

#: More steps than this for one value, and nothing is told of it.
MOST_STEPS = 30_000
TOO_MUCH = "it depends on too much"


class Solver(ABC):
    """The quantities of values from those of what they are made of."""

    def __init__(self) -> None:
        self.known: dict[int, Quantity] = {}
        self.pending: dict[int, int] = {}
        self.lowest = 0
        self.steps = 0
        self.overrun: set[int] = set()
        self.kept: list[Value] = []
        self.visited: set[int] = set()

    @abstractmethod
    def transfer(self, value: Opaque | Sequence | Mapping | Generator) -> Quantity:
        """The quantity of a value from those of what it is made of."""

    def of(self, values: Values) -> Quantity:
        """The quantity of an expression that may be any of the values."""
        if not self.pending:
            self.settle(values)
        found = NOTHING
        for value in values:
            found = join(found, self.of_one(value))
        return found

    def settle(self, values: Values) -> None:
        """Find what the values depend on first: a long chain would be too deep otherwise."""
        stack: list[tuple[Value, bool]] = [(value, False) for value in values]
        while stack:
            value, left = stack.pop()
            if left:
                self.of_one(value)
            elif id(value) not in self.visited:
                self.visited.add(id(value))
                self.kept.append(value)
                stack.append((value, True))
                for group in parents(value):
                    stack.extend((other, False) for other in group)

    def of_one(self, value: Value) -> Quantity:
        """The quantity of one value; neutral where it depends on itself, as in a loop."""
        if isinstance(value, Constant):
            zero = isinstance(value.value, (int, float)) and value.value == 0
            return NOTHING if value.value is None or (zero and value.value is not False) else EQUAL
        if isinstance(value, Unknown):
            return unknown(value.reason)
        if not isinstance(value, (Opaque, Sequence, Mapping, Generator)):
            return EQUAL
        if id(value) in self.known:
            return self.known[id(value)]
        if id(value) in self.overrun:
            return unknown(TOO_MUCH)
        if id(value) in self.pending:
            self.lowest = min(self.lowest, self.pending[id(value)])
            return NOTHING
        self.steps += 1
        if self.steps > MOST_STEPS:
            # Whatever is on the way here is in the same knot, and need not be tried again.
            self.overrun.update(self.pending)
            return unknown(TOO_MUCH)
        depth = len(self.pending)
        self.pending[id(value)] = depth
        outer, self.lowest = self.lowest, depth
        found = self.transfer(value)
        del self.pending[id(value)]
        if id(value) in self.overrun:
            self.kept.append(value)
        if self.lowest >= depth:
            # What was found within a cycle holds only once all of it has been seen.
            self.known[id(value)] = found
            self.kept.append(value)
            self.lowest = outer
        else:
            self.lowest = min(self.lowest, outer)
        if depth == 0:
            self.steps, self.lowest = 0, 0
        return found
