"""The state of a run through a model, and what its parts offer to each other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Protocol

import libcst as cst

from transpile.facts.interpreter import Facts
from transpile.facts.module import Module
from transpile.facts.values import Arguments, Function, Value, Values
from transpile.records import dataclass, field

from .domain import (
    SAMPLES,
    Cell,
    Choice,
    Coupled,
    Dim,
    Factor,
    Group,
    Held,
    Input,
    Known,
    Problem,
    Record,
    Tensor,
    Unknown,
    choice,
    options,
)

#: Evaluations after which a model counts as too large to follow.
MOST_STEPS = 60_000
#: Calls within each other.
DEEPEST_CALLS = 40


class NeedsRank(Exception):
    """The rank of an input must be chosen before the run can go on.

    Args:
        name: the input.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class TooLong(Exception):
    """The model needs more steps than are allowed."""


@dataclass(frozen=True)
class Given:
    """The arguments of a call.

    Args:
        items: the positional ones.
        keywords: those with keywords.
        more: there may be others, unpacked from something unknown.
        nodes: where the positional ones stand.
    """

    items: tuple[Known, ...] = ()
    keywords: dict[str, Known] = field(default_factory=dict)
    more: bool = False

    def every(self) -> tuple[Known, ...]:
        """All arguments."""
        return (*self.items, *self.keywords.values())

    def get(self, name: str, place: int | None = None) -> Known | None:
        """An argument by keyword, else by place."""
        if name in self.keywords:
            return self.keywords[name]
        if place is not None and place < len(self.items):
            return self.items[place]
        return None


@dataclass(eq=False)
class Frame:
    """One call of a function.

    Args:
        names: what is bound in it.
        function: the function; what it does not bind is looked up around it.
        receiver: the object whose method it is.
        outer: for a function that was defined on the way, the names around it.
    """

    names: dict[str, Known]
    function: Function
    receiver: Value | None = None
    outer: tuple[dict[str, Known], ...] = ()
    returns: list[Known] = field(default_factory=list)
    yields: list[Known] = field(default_factory=list)
    breaks: list[list[Snapshot]] = field(default_factory=list)
    continues: list[list[Snapshot]] = field(default_factory=list)


@dataclass(frozen=True)
class Snapshot:
    """What is bound, held and stored at one point of a run."""

    names: dict[str, Known]
    heap: dict[Cell, Group | Record]
    stored: dict[tuple[int, str], Known]


#: A list or dict that a call has made: the node and the context within the call, what it holds.
Made = tuple[int, tuple[int, ...], Group | Record]


@dataclass(frozen=True)
class Done:
    """What a call of a function has given and done, for others like it.

    Args:
        result: what it gives.
        steps: how many it took.
        problems: what it has met.
        noise: it has drawn at random.
        made: the lists and dicts that it leaves behind.
        alive: what the call is told apart by, so that nothing else takes over its identity.
    """

    result: Known
    steps: int
    problems: tuple[Problem, ...]
    noise: bool
    made: tuple[Made, ...]
    alive: object


class Library(Protocol):
    """What is known of a framework's operations."""

    def function(self, run: Running, name: str, given: Given) -> Known | None:
        """What a call of something outside the project gives; None where nothing is known."""

    def method(self, run: Running, base: Known, word: str, given: Given) -> Known | None:
        """What a method of a tensor, number, list, dict or string gives."""

    def attribute(self, run: Running, base: Known, word: str) -> Known | None:
        """What an attribute of a tensor is."""

    def layer(
        self, run: Running, names: tuple[str, ...], layer: Value, made: Given, given: Given
    ) -> Known | None:
        """What a call of a library's object gives, by the names of what made it."""

    def operator(self, run: Running, word: str, operands: tuple[Known, ...]) -> Known:
        """What an operator gives."""

    def item(self, run: Running, base: Known, index: tuple[Known, ...]) -> Known:
        """What ``base[index]`` gives."""

    def element(self, run: Running, base: Known) -> Known:
        """What iterating over something gives."""

    def store(self, run: Running, base: Known, index: tuple[Known, ...], value: Known) -> None:
        """What ``base[index] = value`` does to a tensor."""

    def is_layer(self, names: tuple[str, ...]) -> bool:
        """Whether what makes an object makes a layer, by its names."""

    def elements(self, run: Running, container: Value) -> tuple[list[Known], Known | None] | None:
        """The layers in a container of layers, and what else may be in it."""


class Running(ABC):
    """A run through the code of a model."""

    def __init__(self, facts: Facts, library: Library, call_method: str, ranks: dict[str, int]):
        self.facts = facts
        self.library = library
        self.ranks = ranks
        self.problems: list[Problem] = []
        self.noise = False
        self.batch_norm = False
        self.heap: dict[Cell, Group | Record] = {}
        self.stored: dict[tuple[int, str], Known] = {}
        self.kept: dict[tuple[int, str], Known] = {}
        self.written: dict[tuple[int, str], Known] = {}
        self.written_at: dict[tuple[int, str], tuple[Module, cst.CSTNode]] = {}
        self.words: dict[tuple[int, str], str] = {}
        self.read_before: set[tuple[int, str]] = set()
        self.functions: dict[int, Function] = {}
        self.call_method_word = call_method
        self.frame: Frame
        self.frames: list[Frame] = []
        self.sites: list[tuple[Module, cst.CSTNode]] = []
        self.steps = 0
        self.lifted: dict[int, Known] = {}
        self.lifting: set[int] = set()
        #: Each list and dict that was made or looked into since a call began, and whether it was
        #: there before that; and how often an attribute was stored.
        self.touched: dict[Cell, bool] = {}
        self.stores = 0
        self.done: dict[tuple[object, object], Done] = {}
        self.context: tuple[int, ...] = ()

    # What the parts offer to each other.

    @abstractmethod
    def evaluate(self, node: cst.CSTNode) -> Known:
        """What an expression gives."""

    @abstractmethod
    def execute_body(self, body: cst.CSTNode) -> bool:
        """Run a suite; whether control may leave it at its end."""

    @abstractmethod
    def call(self, callee: Known, given: Given) -> Known:
        """What a call gives."""

    @abstractmethod
    def lift(self, values: Values) -> Known:
        """What the facts know of a value, in the terms of this run."""

    @abstractmethod
    def bind(self, target: cst.CSTNode, value: Known) -> None:
        """Assign a value to a target."""

    @abstractmethod
    def attribute(self, base: Known, word: str) -> Known:
        """``base.word``."""

    @abstractmethod
    def elements_of(self, value: Known, wanted: int = 0) -> tuple[list[Known], Known | None]:
        """What iterating over a value gives: those in order, and what else may come."""

    @abstractmethod
    def apply(self, operation: Callable[..., Known], *operands: Known) -> Known:
        """An operation on each combination of alternatives."""

    @abstractmethod
    def certainly_there(self, held: Held) -> bool:
        """Whether objects are certainly not None."""

    @abstractmethod
    def lifted_arguments(self, arguments: Arguments) -> Given:
        """The arguments of a call outside the followed code."""

    # Helpers.

    @property
    def site(self) -> tuple[Module, cst.CSTNode]:
        """Where the run stands."""
        return self.sites[-1]

    def step(self) -> None:
        """Count one evaluation.

        Raises:
            TooLong: there were too many.
        """
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise TooLong

    def coupled(self, reason: str, cause: str = "samples") -> Coupled:
        """A value that mixes samples here."""
        return Coupled(reason, *self.site, cause)

    def unknown(self, reason: str, cause: str = "object") -> Unknown:
        """A value that nothing is known of here."""
        return Unknown(reason, *self.site, cause)

    def settle(self, value: Known) -> Known:
        """The tensor that an input is, of the rank that this run supposes.

        Raises:
            NeedsRank: none is supposed yet.
        """
        if not isinstance(value, Input):
            return value
        if value.name not in self.ranks:
            raise NeedsRank(value.name)
        return input_tensor(value, self.ranks[value.name])

    def cell(self, node: cst.CSTNode, held: Group | Record) -> Cell:
        """A new list or dict."""
        made = Cell((id(node), self.context))
        before = self.heap.get(made)
        self.touched.setdefault(made, before is not None)
        if before is not None and before != held:
            both = choice(before, held)
            assert isinstance(both, (Group, Record))
            held = both
        self.heap[made] = held
        return made

    def held(self, value: Known) -> Known:
        """What a cell holds; other values as they are."""
        if not isinstance(value, Cell):
            return value
        found = self.heap.get(value)
        self.touched.setdefault(value, found is not None)
        return Group() if found is None else found

    def snapshot(self) -> Snapshot:
        """What is bound, held and stored now."""
        return Snapshot(dict(self.frame.names), dict(self.heap), dict(self.stored))

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to a point."""
        self.frame.names = dict(snapshot.names)
        self.heap = dict(snapshot.heap)
        self.stored = dict(snapshot.stored)

    def restore_either(self, several: list[Snapshot]) -> None:
        """Go on from either of several points."""
        first, *others = several
        names, heap, stored = dict(first.names), dict(first.heap), dict(first.stored)
        for other in others:
            join_into(names, other.names)
            join_into(heap, other.heap)
            join_into(stored, other.stored)
        self.restore(Snapshot(names, heap, stored))

    def attempt(self, value: Known) -> Iterator[Known]:
        """The alternatives of a value, inputs settled."""
        for option in options(value):
            yield self.settle(option)

    def deep(self, value: Known, depth: int = 0) -> Iterator[Known]:
        """All that a value is made of, containers looked into."""
        if depth > 8:
            return
        for option in options(value):
            found = self.held(self.settle(option))
            if isinstance(found, Group):
                for part in (*found.elements, *((found.rest,) if found.rest is not None else ())):
                    yield from self.deep(part, depth + 1)
            elif isinstance(found, Record):
                for _, part in found.entries:
                    yield from self.deep(part, depth + 1)
                if found.rest is not None:
                    yield from self.deep(found.rest, depth + 1)
            elif not isinstance(found, Choice):
                yield found

    def sampled(self, value: Known) -> bool:
        """Whether samples are in a value, or may be."""
        return any(
            isinstance(one, (Coupled, Unknown)) or (isinstance(one, Tensor) and not one.whole)
            for one in self.deep(value)
        )


def input_tensor(given: Input, rank: int) -> Tensor:
    """An input of a rank, each of its sizes a symbol."""
    return Tensor(
        tuple(
            SAMPLES if place == given.axis else Dim(Factor(1, (f"{given.name}.{place}",)))
            for place in range(rank)
        )
    )


def join_into(names: dict, others: dict) -> None:  # type: ignore[type-arg]
    """Add what else names may stand for."""
    for name, value in others.items():
        if name in names and names[name] != value:
            names[name] = choice(names[name], value)
        else:
            names.setdefault(name, value)
