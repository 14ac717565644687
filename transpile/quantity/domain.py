"""How a value depends on the training batch of one process, and what arithmetic makes of it.

All processes hold equal shares of the global batch. A value then relates to its counterpart over
the global batch by a *degree*: where every share looks like the others, the counterpart is the
value times the number of processes to the power of the degree. A mean has degree 0, a sum 1, the
number of samples 1, the reciprocal of that number -1.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

import libcst as cst

from transpile.facts.module import Module
from transpile.records import dataclass, replace


class Kind(Enum):
    """The ways in which a value depends on the batch."""

    NOTHING = "nothing"
    """No value yet, or zero: neutral in sums and choices."""
    EQUAL = "equal"
    """Equal on all processes: independent of the samples, or their number."""
    SAMPLE = "sample"
    """Something for each sample: inputs, predictions, losses that are not reduced."""
    SHAPE = "shape"
    """The shape of a tensor with one entry for each sample."""
    PART = "part"
    """Linear in the samples: the average over the processes is proportional to the whole."""
    UNKNOWN = "unknown"
    """None of these."""


class Term(NamedTuple):
    """One summand: its degree, and whether gradients flow through it."""

    degree: int
    gradient: bool


class Duty(Enum):
    """What must be done at a place."""

    DENOMINATOR = "denominator"
    """Average a denominator that differs between the processes."""
    LOSS = "loss"
    """Sum a loss and divide by an averaged denominator instead."""
    MEAN = "mean"
    """Divide the sum of selected samples by how many they are on average over the processes."""
    NUMBER = "number"
    """Reduce a tensor over the processes before it becomes a number."""
    LABELS = "labels"
    """Weigh the loss that a model gives by how many of its labels are this process's."""
    FACTOR = "factor"
    """Multiply or divide a summand by the number of processes."""


@dataclass(frozen=True, eq=False)
class Pending:
    """A place that must be rewritten before the quantity holds.

    Args:
        duty: what must be done.
        node: the denominator, the call of the loss, mean or model, or the call that makes a
            number.
        module: where it stands.
        loss: what the call of a loss divides by.
        factor: what a summand is put together with the number of processes by: ``*`` or ``/``.
        shifted: whether the first label of each row is none that a model's loss is a mean over.
    """

    duty: Duty
    node: cst.CSTNode
    module: Module
    loss: WeightedLoss | None = None
    factor: str = ""
    shifted: bool = False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pending) and self.node is other.node and self.duty is other.duty

    def __hash__(self) -> int:
        return hash((id(self.node), self.duty))


@dataclass(frozen=True, eq=False)
class WeightedLoss:
    """A call of a loss whose mean is no plain mean over equal shares.

    Without weights and targets that are left out, it is one over some of the samples only.

    Args:
        function: dotted name of the functional form.
        call: the call.
        built: for a loss object, the call that made it.
        weight: whether classes have weights.
        ignore_index: whether targets are left out.
    """

    function: str
    call: cst.Call
    built: cst.Call | None
    weight: bool
    ignore_index: bool


@dataclass(frozen=True)
class Quantity:
    """How a value depends on the training batch of this process.

    Args:
        kind: in which way.
        terms: the summands, by degree; more than one degree is a mix.
        dim: where the samples are counted along, for a tensor of samples; None if unknown.
        rank: how many dimensions a tensor of samples has at least, as far as its text tells.
        selection: it holds some of the samples, how many differs between the processes.
        content: ``bool`` for a mask, ``index`` for positions, ``place`` for where samples stand in
            this process's share, ``one`` for an unknown that is one of the samples or is made of
            one, ``processes`` for their number, empty otherwise.
        coupled: a tensor of samples that a batch statistic was added to.
        tensor: it may be a tensor; False for plain numbers.
        agreed: it was reduced over the processes.
        whole: an unknown that is a single number for the whole batch.
        certain: an unknown that couples the samples for certain, even within a model.
        sampled: an unknown that is made of samples for certain.
        shared: an unknown that was divided by the number of samples of this process.
        tiny: a number so small that it only keeps a denominator from zero.
        small: a plain number of the script's own, 1 at most, that is not tiny.
        bounded: for an unknown that is kept above a bound, what it would be without it: where it
            is a denominator, the bound can hold for all processes together.
        pending: what must be rewritten before this holds.
        reason: why it is unknown.
    """

    kind: Kind
    terms: frozenset[Term] = frozenset()
    dim: int | None = 0
    rank: int = 2
    selection: bool = False
    content: str = ""
    coupled: bool = False
    tensor: bool = True
    agreed: bool = False
    whole: bool = False
    certain: bool = False
    sampled: bool = False
    shared: bool = False
    tiny: bool = False
    small: bool = False
    bounded: Quantity | None = None
    pending: frozenset[Pending] = frozenset()
    reason: str = ""

    @property
    def gradient(self) -> bool:
        """Whether gradients flow through it."""
        return any(term.gradient for term in self.terms)

    @property
    def degrees(self) -> frozenset[int]:
        """The degrees of its summands."""
        return frozenset(term.degree for term in self.terms)

    @property
    def degree(self) -> int | None:
        """Its degree, where it has one."""
        return next(iter(self.degrees)) if len(self.degrees) == 1 else None

    @property
    def independent(self) -> bool:
        """Whether it is the same on every process and over the global batch."""
        return self.kind is Kind.NOTHING or (
            self.kind is Kind.EQUAL and self.degree == 0 and not self.pending
        )

    @property
    def is_mean(self) -> bool:
        """Whether it is a mean over the batch."""
        return self.kind is Kind.PART and self.degree == 0

    @property
    def is_sum(self) -> bool:
        """Whether it is a sum over the batch."""
        return self.kind is Kind.PART and self.degree == 1

    @property
    def is_count(self) -> bool:
        """Whether it is a number of samples."""
        return self.kind is Kind.EQUAL and self.degree == 1 and not self.agreed

    @property
    def is_same(self) -> bool:
        """Whether it is the same on all processes, and no number of samples."""
        return self.kind is Kind.NOTHING or (
            self.kind is Kind.EQUAL and (self.agreed or self.degree == 0)
        )

    def may_count_along(self, dim: int) -> bool:
        """Whether a dimension, which may be counted from the last, may be that of the samples."""
        if self.dim is None:
            return True
        if dim >= 0:
            return dim == self.dim
        return self.rank + dim <= self.dim

    def without_gradient(self) -> Quantity:
        """The same, cut off from the graph of gradients."""
        terms = frozenset(Term(term.degree, False) for term in self.terms)
        return replace(self, terms=terms, bounded=None)

    def with_gradient(self) -> Quantity:
        """The same as a part of the graph of gradients."""
        return replace(self, terms=frozenset(Term(term.degree, True) for term in self.terms))

    def scaled(self, degree: int) -> Quantity:
        """The same with all degrees moved."""
        moved = frozenset(Term(term.degree + degree, term.gradient) for term in self.terms)
        return replace(self, terms=moved)

    def number(self) -> Quantity:
        """The same as a plain number."""
        return replace(self.without_gradient(), tensor=False)

    def __str__(self) -> str:
        return describe(self)


NOTHING = Quantity(Kind.NOTHING, tensor=False)


def equal(degree: int = 0, gradient: bool = False, tensor: bool = True) -> Quantity:
    """A value that is equal on all processes."""
    return Quantity(Kind.EQUAL, frozenset({Term(degree, gradient)}), tensor=tensor)


def count() -> Quantity:
    """The number of samples of this process."""
    return equal(1, tensor=False)


def sample(
    gradient: bool = False, dim: int | None = 0, content: str = "", rank: int = 2
) -> Quantity:
    """A tensor with an entry for each sample."""
    terms = frozenset({Term(0, gradient)})
    return Quantity(Kind.SAMPLE, terms, dim=dim, content=content, rank=max(rank, (dim or 0) + 1))


def selected_places() -> Quantity:
    """The places of some samples, how many differs between the processes."""
    return replace(sample(), selection=True)


def part(degree: int, gradient: bool = False) -> Quantity:
    """A value that is linear in the samples: a mean (0), a sum (1)."""
    return Quantity(Kind.PART, frozenset({Term(degree, gradient)}))


def unknown(reason: str, whole: bool = False, certain: bool = False) -> Quantity:
    """A value whose dependence on the batch cannot be told, and why."""
    terms = frozenset({Term(0, True)})
    return Quantity(Kind.UNKNOWN, terms, reason=reason, whole=whole, certain=certain, sampled=True)


def describe(quantity: Quantity) -> str:
    """The quantity in the words of messages."""
    if quantity.kind is Kind.UNKNOWN:
        return f"unknown ({quantity.reason})"
    if quantity.kind is Kind.PART:
        names = {0: "mean", 1: "sum"}
        words = [names.get(degree, f"degree {degree}") for degree in sorted(quantity.degrees)]
        suffix = " over a denominator that differs" if quantity.pending else ""
        return " and ".join(words) + suffix
    if quantity.kind is Kind.EQUAL:
        if quantity.degree == 0:
            return "independent"
        return "count" if quantity.degree == 1 else "scaled count"
    if quantity.kind is Kind.SAMPLE:
        return "selection of samples" if quantity.selection else "samples"
    return str(quantity.kind.value)
