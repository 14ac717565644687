"""What a value inside a model is, as far as the samples of the batch are concerned.

A tensor has a shape in which at most one axis counts samples. Sizes are products of numbers and
of symbols such as "the second axis of the first input"; the number of samples is a size of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import Constant, Function, Value, Values
from transpile.records import dataclass

#: More alternatives than this are no longer told apart.
MOST_CHOICES = 6


class Factor(NamedTuple):
    """A size: a number times symbols."""

    number: int = 1
    symbols: tuple[str, ...] = ()

    def times(self, other: Factor) -> Factor:
        """The product."""
        symbols = tuple(sorted((*self.symbols, *other.symbols)))
        return Factor(self.number * other.number, symbols)

    def over(self, other: Factor) -> Factor | None:
        """The quotient, where the other divides it for certain."""
        left = list(self.symbols)
        for symbol in other.symbols:
            if symbol not in left:
                return None
            left.remove(symbol)
        if other.number == 0 or self.number % other.number:
            return None
        return Factor(self.number // other.number, tuple(left))


ONE = Factor()


def product(factors: list[Factor | None]) -> Factor | None:
    """The product of sizes; None where one is not known."""
    found = ONE
    for factor in factors:
        if factor is None:
            return None
        found = found.times(factor)
    return found


class Dim(NamedTuple):
    """One axis of a tensor.

    Args:
        size: how long it is, or how many rows lie together for each sample; None if unknown.
        samples: it counts the samples.
        outer: how often all samples come, one round behind the other.
        doubt: whether `size` is a whole number is not known: a row may hold several samples.
    """

    size: Factor | None = None
    samples: bool = False
    outer: Factor | None = ONE
    doubt: bool = False

    @property
    def plain(self) -> bool:
        """Whether it counts the samples, each once (as far as that is known)."""
        return self.samples and self.outer == ONE and (self.size == ONE or self.doubt)


SAMPLES = Dim(ONE, True)
UNIT = Dim(ONE)
LENGTH = Dim(None)


@dataclass(frozen=True)
class Tensor:
    """A tensor: one row per sample along an axis, the rows independent; or whole.

    Args:
        dims: its axes; None for a whole tensor of unknown rank.
        places: its entries tell at which place of the batch a sample stands.
        drawn: it was drawn at random, once for the whole batch.
        mask: its entries are true or false.
    """

    dims: tuple[Dim, ...] | None = None
    places: bool = False
    drawn: bool = False
    mask: bool = False

    @property
    def axis(self) -> int | None:
        """The axis that counts samples."""
        for position, dim in enumerate(self.dims or ()):
            if dim.samples:
                return position
        return None

    @property
    def whole(self) -> bool:
        """Whether it has no samples."""
        return self.axis is None


@dataclass(frozen=True)
class Number:
    """A plain number, or another plain object, that does not depend on the samples' contents.

    Args:
        size: its value, where it is a size.
        samples: it is that size times the number of samples.
        counted: it depends on the number of samples in another way.
        drawn: it was drawn at random.
    """

    size: Factor | None = None
    samples: bool = False
    counted: bool = False
    drawn: bool = False


@dataclass(frozen=True, eq=False)
class Problem:
    """Where the samples of a batch come together, or may do so.

    Args:
        reason: what does it, or what cannot be analysed.
        module: where that stands.
        node: the operation.
        rank: of how many axes the tensor is, where that is known.
        cause: ``samples``, ``state``, ``count``, ``noise`` or ``layout``;
            ``arguments`` where a call unpacks what it is given; ``object`` for one of a library's
            that no table knows, ``bundle`` for one that holds tensors and has no rows itself.
    """

    reason: str
    module: Module | None = None
    node: cst.CSTNode | None = None
    cause: str = "samples"
    rank: int | None = None

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and key_of(self) == key_of(other)

    def __hash__(self) -> int:
        return hash(key_of(self))


def key_of(problem: Problem) -> tuple[object, ...]:
    """What tells one problem from others."""
    return (problem.reason, id(problem.node))


class Coupled(Problem):
    """A value that is shown to mix samples."""


class Unknown(Problem):
    """A value of which nothing is known."""


@dataclass(frozen=True)
class Input:
    """An argument of the model whose rank is not known yet.

    Args:
        name: what tells it from others.
        axis: the axis of its samples.
        open: a loader delivers it: it may as well be a tuple, list or dict of such tensors.
    """

    name: str
    axis: int
    open: bool = False


@dataclass(frozen=True)
class Held:
    """Objects of the script or of a library: layers, functions, classes."""

    values: Values


@dataclass(frozen=True, eq=False)
class Local:
    """A function that the followed code defines itself.

    Args:
        node: its definition.
        names: what its surroundings have bound.
        function: the function around it.
    """

    node: cst.FunctionDef | cst.Lambda
    names: dict[str, Known]
    function: Function
    receiver: Value | None


@dataclass(frozen=True)
class Method:
    """A method of a value that is no object of the project."""

    base: Known
    word: str


@dataclass(frozen=True)
class Group:
    """A tuple or list: its elements, and what else may be in it."""

    elements: tuple[Known, ...] = ()
    rest: Known | None = None


@dataclass(frozen=True)
class Record:
    """A dict, or an object with named fields.

    Args:
        entries: what stands under its keys.
        rest: what else may be in it.
        ordered: it is a tuple with names, which is unpacked to its values.
        family: it is a library's object that holds these tensors and has no rows itself, such as
            a distribution; empty for others.
        remade: such an object can be made again of more rows of what it holds.
    """

    entries: tuple[tuple[object, Known], ...] = ()
    rest: Known | None = None
    ordered: bool = False
    family: str = ""
    remade: bool = False

    def get(self, key: object) -> Known | None:
        """What stands under a key."""
        return dict(self.entries).get(key)


@dataclass(frozen=True)
class Cell:
    """A list or dict that the followed code makes and changes, by where it was made."""

    key: tuple[int, tuple[int, ...]]


@dataclass(frozen=True)
class Choice:
    """One of several."""

    options: tuple[Known, ...]


Known = (
    Tensor
    | Number
    | Constant
    | Coupled
    | Unknown
    | Input
    | Held
    | Local
    | Method
    | Group
    | Record
    | Cell
    | Choice
)
NONE = Constant(None)
PLAIN = Number()


def whole(rank: int | None = None) -> Tensor:
    """A tensor without samples."""
    return Tensor(None if rank is None else (LENGTH,) * rank)


def options(value: Known) -> tuple[Known, ...]:
    """The alternatives of a value."""
    return value.options if isinstance(value, Choice) else (value,)


def choice(*several: Known) -> Known:
    """One of several values; what meets a coupled one is coupled."""
    if len(several) == 1 and not isinstance(several[0], Choice):
        return several[0]
    kept: list[Known] = []
    for value in several:
        for option in options(value):
            if option not in kept:
                kept.append(option)
    merged: list[Known] = []
    for option in kept:
        for position, other in enumerate(merged):
            both = together(other, option)
            if both is not None:
                merged[position] = both
                break
        else:
            merged.append(option)
    if not merged:
        return NONE
    if len(merged) == 1:
        return merged[0]
    worst = problem_of(merged)
    if worst is not None:
        return worst
    if len(merged) > MOST_CHOICES:
        return Unknown("too many different values meet here")
    return Choice(tuple(merged))


def problem_of(values: list[Known] | tuple[Known, ...]) -> Coupled | Unknown | None:
    """The first coupled value, else the first unknown one."""
    unknown: Unknown | None = None
    for value in values:
        if isinstance(value, Coupled):
            return value
        if unknown is None and isinstance(value, Unknown):
            unknown = value
    return unknown


def together(one: Known, other: Known) -> Known | None:
    """What stands for either of two values, where one thing does."""
    if one == other:
        return one
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        if one.dims is None or other.dims is None:
            if one.whole and other.whole:
                return Tensor(None, drawn=one.drawn or other.drawn)
            return None
        if (len(one.dims), one.places, one.mask) != (len(other.dims), other.places, other.mask):
            return None
        dims = [same_dim(a, b) for a, b in zip(one.dims, other.dims, strict=True)]
        if None in dims:
            return None
        drawn = one.drawn or other.drawn
        return Tensor(tuple(d for d in dims if d), one.places, drawn, one.mask)
    if isinstance(one, Number) and isinstance(other, Number):
        counted = one.counted or other.counted or one.samples or other.samples
        return Number(None, False, counted, one.drawn or other.drawn)
    if isinstance(one, Held) and isinstance(other, Held):
        return Held((*one.values, *(value for value in other.values if value not in one.values)))
    if isinstance(one, Group) and isinstance(other, Group):
        if len(one.elements) == len(other.elements):
            pairs = zip(one.elements, other.elements, strict=True)
            return Group(tuple(choice(a, b) for a, b in pairs), either(one.rest, other.rest))
        rest = choice(*one.elements, *other.elements, *rests(one.rest, other.rest))
        return Group((), rest)
    if isinstance(one, Record) and isinstance(other, Record):
        if one.family != other.family:
            return None
        left, right = dict(one.entries), dict(other.entries)
        entries = {
            key: choice(*(side[key] for side in (left, right) if key in side))
            for key in (*left, *(key for key in right if key not in left))
        }
        ordered = one.ordered and other.ordered
        both = one.remade and other.remade
        further = either(one.rest, other.rest)
        return Record(tuple(entries.items()), further, ordered, one.family, both)
    if isinstance(one, Constant) and isinstance(other, Constant):
        if isinstance(one.value, (int, float)) and isinstance(other.value, (int, float)):
            return None if isinstance(one.value, bool) else PLAIN
    return None


def same_dim(one: Dim, other: Dim) -> Dim | None:
    """An axis that is either of two; None where only one of them counts samples."""
    if one == other:
        return one
    if one.samples != other.samples:
        return None
    if not one.samples:
        return Dim(None)
    if one.outer != other.outer:
        return None
    doubt = one.doubt or other.doubt
    return Dim(one.size if one.size == other.size else None, True, one.outer, doubt)


def rests(*several: Known | None) -> list[Known]:
    """Those that are there."""
    return [one for one in several if one is not None]


def either(one: Known | None, other: Known | None) -> Known | None:
    """One of two, where there are any."""
    found = rests(one, other)
    return choice(*found) if found else None
