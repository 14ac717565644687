"""Quantities to a fixed point: each value is looked at again until nothing changes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable

from transpile.facts.values import (
    Constant,
    Generator,
    Mapping,
    Opaque,
    Sequence,
    Unknown,
    Value,
    Values,
    WorldSize,
)
from transpile.plan.graph import is_instance_of
from transpile.plan.model import Plan
from transpile.records import replace

from . import algebra, domain
from .domain import NOTHING, Quantity
from .operators import Operators

#: Passes over a cycle after which what still changes counts as unknown.
MOST_PASSES = 12
#: The nodes of the value graph.
NODES = (Opaque, Sequence, Mapping, Generator)
#: Constants up to this size only keep a denominator from zero.
TINY = 1e-3


class Settling(Operators):
    """Settles what is asked for and all that it depends on.

    Args:
        plan: the plan.
        scaled: operands that are multiplied by the number of processes, by the identity of their
            node, to its power.
        whole: take numbers that leave the tensors as those of the global batch.
        reduced: the identities of expressions that are taken over all processes.
    """

    def __init__(
        self,
        plan: Plan,
        scaled: dict[int, int] | None = None,
        whole: bool = False,
        reduced: frozenset[int] = frozenset(),
    ) -> None:
        super().__init__(plan, scaled, whole, reduced)
        self.begin()

    def begin(self) -> None:
        """Begin with nothing settled."""
        self.table: dict[int, Quantity] = {}
        self.settled: set[int] = set()
        self.looked_ahead = False
        #: The identities of what was looked at since somebody asked.
        self.reads: list[int] = []
        #: What is, or is being, settled; and what was looked at though it is neither.
        self.ordered: set[int] = set()
        self.missed: list[Value] = []
        self.kept: list[Value] = []

    @abstractmethod
    def transfer(self, value: Value) -> Quantity:
        """The quantity of a value from those of what it is made of."""

    @abstractmethod
    def dependencies(self, value: Value) -> Iterable[Values]:
        """The groups of values that the quantity of a value is made of."""

    def of(self, values: Values) -> Quantity:
        """The quantity of an expression that may be any of the values."""
        if self.missed or not all(map(self.is_settled, values)):
            self.settle(values)
        else:
            self.looked_ahead, self.reads = False, []
        return self.look(values)

    def is_settled(self, value: Value) -> bool:
        """Whether nothing is left to find out of a value."""
        return id(value) in self.settled or not isinstance(value, NODES)

    def look(self, values: Values) -> Quantity:
        """The quantity of alternatives, as far as it is settled."""
        found = NOTHING
        for value in values:
            found = algebra.join(found, self.look_one(value))
        return found

    def look_one(self, value: Value) -> Quantity:
        """The quantity of one value, as far as it is settled."""
        if isinstance(value, NODES):
            self.reads.append(id(value))
            found = self.table.get(id(value))
            if found is None:
                self.looked_ahead = True
                if id(value) not in self.ordered:
                    # Nothing is not what it is, but what it is taken for until it is settled, too.
                    self.missed.append(value)
                return NOTHING
            return found
        return simple(value, self.plan)

    def forget(self) -> None:
        """Settle everything anew."""
        self.table.clear()
        self.settled.clear()
        self.ordered.clear()

    def settle(self, values: Values) -> None:
        """Find the quantities of the values and of all that they depend on."""
        order = list(self.unsettled(values))
        self.ordered.update(map(id, order))
        changing: list[Value] = []
        # When each was found, from what, and when it became what it is: what stands as it did
        # gives the same again.
        time = 0
        found_at: dict[int, int] = {}
        changed_at: dict[int, int] = {}
        read_from: dict[int, list[int]] = {}
        for number in range(MOST_PASSES):
            changing = []
            self.looked_ahead = False
            if self.missed:
                more = [one for one in self.unsettled(tuple(self.missed)) if self.adds(one)]
                order = [*more, *order]
                self.missed = []
            for value in order:
                key, time = id(value), time + 1
                since = found_at.get(key)
                if since is not None:
                    if all(changed_at.get(one, 0) < since for one in read_from[key]):
                        continue
                found_at[key] = time
                self.reads = read_from[key] = []
                found = self.transfer(value)
                if found != self.table.get(key):
                    self.table[key] = found
                    changed_at[key] = time
                    changing.append(value)
            if number == 0 and not self.looked_ahead:
                # Each was behind all that it depends on: another pass would find the same.
                changing = []
            if not changing and not self.missed:
                break
        for value in changing:
            self.table[id(value)] = domain.unknown("it grows with each pass of a loop", whole=True)
        if changing:
            grown = set(map(id, changing))
            for value in order:
                if id(value) not in grown:
                    self.table[id(value)] = self.transfer(value)
        self.reads = []
        self.kept.extend(order)
        self.settled.update(id(value) for value in order)

    def adds(self, value: Value) -> bool:
        """Note a value among those that are being settled; False where it was one of them."""
        if id(value) in self.ordered:
            return False
        self.ordered.add(id(value))
        return True

    def unsettled(self, values: Values) -> Iterable[Value]:
        """What must be settled for the values, each behind what it depends on where possible."""
        seen: set[int] = set()
        stack: list[tuple[Value, bool]] = [(value, False) for value in reversed(values)]
        while stack:
            value, left = stack.pop()
            if left:
                yield value
                continue
            if id(value) in seen or id(value) in self.settled:
                continue
            seen.add(id(value))
            if not isinstance(value, NODES):
                continue
            stack.append((value, True))
            if id(value) not in self.plan.samples and self.batch_of(value) is None:
                for group in self.dependencies(value):
                    stack.extend((other, False) for other in group)


def simple(value: Value, plan: Plan) -> Quantity:
    """The quantity of a value that is no node of the graph."""
    if isinstance(value, WorldSize):
        degree = 0 if plan.way == "calls" else -1
        return replace(domain.equal(degree, tensor=False), content=algebra.PROCESSES)
    if isinstance(value, Constant):
        if isinstance(value.value, (int, float)):
            if value.value == 0 and not isinstance(value.value, bool):
                return NOTHING
            tiny = abs(value.value) <= TINY
            small = not tiny and abs(value.value) <= 1
            return replace(domain.equal(tensor=False), tiny=tiny, small=small)
        return NOTHING if value.value is None else domain.equal(tensor=False)
    if isinstance(value, Unknown):
        if value.reason.endswith("calls itself"):
            # What a function gives where it calls itself is what it gives otherwise.
            return NOTHING
        return replace(domain.unknown(value.reason), sampled=False)
    gradient = is_instance_of(value, plan.table.module_bases)
    return domain.equal(gradient=gradient)
