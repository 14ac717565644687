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
    NUMBER = "number"
    """Reduce a tensor over the processes before it becomes a number."""


@dataclass(frozen=True, eq=False)
class Pending:
    """A place that must be rewritten before the quantity holds.

    Args:
        duty: what must be done.
        node: the denominator, the call of the loss, or the call that makes a number.
        module: where it stands.
        loss: what the call of a loss divides by.
    """

    duty: Duty
    node: cst.CSTNode
    module: Module
    loss: WeightedLoss | None = None

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
        selection: it holds some of the samples, how many differs between the processes.
        content: ``bool`` for a mask, ``index`` for positions, empty otherwise.
        coupled: a tensor of samples that a batch statistic was added to.
        tensor: it may be a tensor; False for plain numbers.
        agreed: it was reduced over the processes.
        whole: an unknown that is a single number for the whole batch.
        certain: an unknown that couples the samples for certain, even within a model.
        sampled: an unknown that is made of samples for certain.
        tiny: a number so small that it only keeps a denominator from zero.
        pending: what must be rewritten before this holds.
        reason: why it is unknown.
    """

    kind: Kind
    terms: frozenset[Term] = frozenset()
    dim: int | None = 0
    selection: bool = False
    content: str = ""
    coupled: bool = False
    tensor: bool = True
    agreed: bool = False
    whole: bool = False
    certain: bool = False
    sampled: bool = False
    tiny: bool = False
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

    def without_gradient(self) -> Quantity:
        """The same, cut off from the graph of gradients."""
        return replace(self, terms=frozenset(Term(term.degree, False) for term in self.terms))

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


def sample(gradient: bool = False, dim: int | None = 0, content: str = "") -> Quantity:
    """A tensor with an entry for each sample."""
    return Quantity(Kind.SAMPLE, frozenset({Term(0, gradient)}), dim=dim, content=content)


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


def unknown_among(*several: Quantity) -> Quantity | None:
    """What an operation on something unknown gives; None where all is known."""
    unknowns = [one for one in several if one.kind is Kind.UNKNOWN]
    if not unknowns:
        return None
    found = next((one for one in unknowns if one.certain), unknowns[0])
    whole = not any(
        one.kind is Kind.SAMPLE or (one.kind is Kind.UNKNOWN and not one.whole) for one in several
    )
    pending = frozenset[Pending]().union(*(one.pending for one in several))
    sampled = any(one.sampled or one.kind in (Kind.SAMPLE, Kind.PART) for one in several)
    return replace(found, whole=whole, pending=pending, sampled=sampled)


def as_value(quantity: Quantity) -> Quantity:
    """A shape as the numbers that it holds."""
    return equal(tensor=False) if quantity.kind is Kind.SHAPE else quantity


def aligned(first: Quantity, second: Quantity) -> bool:
    """Whether the samples of two tensors meet one by one."""
    return first.dim is None or second.dim is None or first.dim == second.dim


PAIRS = "it compares the samples of a batch with each other"
STATISTIC = "it combines single samples with a number for the whole batch"


def merged_samples(first: Quantity, second: Quantity) -> Quantity:
    """Two tensors of samples in one operation that keeps them apart."""
    if not aligned(first, second):
        return unknown(PAIRS)
    if first.degrees != second.degrees:
        return unknown("its samples are scaled by the batch size in two ways", certain=True)
    return Quantity(
        Kind.SAMPLE,
        first.terms | second.terms,
        dim=first.dim if first.dim is not None else second.dim,
        selection=first.selection or second.selection,
        coupled=first.coupled or second.coupled,
        tensor=first.tensor or second.tensor,
        pending=first.pending | second.pending,
    )


def sample_first(first: Quantity, second: Quantity) -> tuple[Quantity, Quantity]:
    """The two in the order sample, part, equal."""
    order = (Kind.SAMPLE, Kind.PART, Kind.EQUAL)
    if order.index(first.kind) > order.index(second.kind):
        return second, first
    return first, second


def over_nothing(first: Quantity, second: Quantity) -> Quantity:
    """The one of two quantities that is something."""
    kept, other = (second, first) if first.kind is Kind.NOTHING else (first, second)
    return kept if kept.tensor or not other.tensor else replace(kept, tensor=True)


def add(first: Quantity, second: Quantity) -> Quantity:
    """The sum or difference of two values."""
    first, second = as_value(first), as_value(second)
    if first.kind is Kind.NOTHING or second.kind is Kind.NOTHING:
        return over_nothing(first, second)
    found = unknown_among(first, second)
    if found is not None:
        return found
    if first.tiny or second.tiny:
        return second if first.tiny else first
    first, second = sample_first(first, second)
    pending = first.pending | second.pending
    if first.kind is Kind.SAMPLE:
        if second.kind is Kind.SAMPLE:
            return merged_samples(first, second)
        if first.degrees != second.degrees:
            return unknown("it adds something of another scale to each sample")
        coupled = first.coupled or second.kind is Kind.PART
        return replace(
            first, terms=first.terms | second.terms, coupled=coupled, pending=pending, content=""
        )
    return Quantity(
        first.kind,
        first.terms | second.terms,
        tensor=first.tensor if first.kind is not second.kind else first.tensor or second.tensor,
        agreed=first.kind is Kind.EQUAL and (first.agreed or second.agreed),
        pending=pending,
    )


def multiply(first: Quantity, second: Quantity) -> Quantity:
    """The product of two values."""
    first, second = as_value(first), as_value(second)
    if first.kind is Kind.NOTHING or second.kind is Kind.NOTHING:
        return over_nothing(first, second)
    found = unknown_among(first, second)
    if found is not None:
        return found
    first, second = sample_first(first, second)
    pending = first.pending | second.pending
    terms = frozenset(
        Term(one.degree + other.degree, one.gradient or other.gradient)
        for one in first.terms
        for other in second.terms
    )
    if first.kind is Kind.SAMPLE and second.kind is Kind.SAMPLE:
        if first.coupled or second.coupled:
            return unknown(STATISTIC)
        if not aligned(first, second):
            return unknown(PAIRS)
        return Quantity(
            Kind.SAMPLE,
            terms,
            dim=first.dim if first.dim is not None else second.dim,
            selection=first.selection or second.selection,
            tensor=first.tensor or second.tensor,
            pending=pending,
        )
    if second.kind is Kind.PART:
        if first.kind is Kind.SAMPLE:
            return unknown(STATISTIC)
        return unknown("it multiplies two numbers that are taken over the batch", whole=True)
    if first.kind is Kind.SAMPLE:
        return replace(first, terms=terms, pending=pending, content="")
    return Quantity(
        first.kind,
        terms,
        tensor=first.tensor if first.kind is Kind.PART else first.tensor or second.tensor,
        agreed=first.kind is Kind.EQUAL and (first.agreed or second.agreed),
        pending=pending,
    )


def divide(first: Quantity, second: Quantity, denominator: Pending | None = None) -> Quantity:
    """The quotient of two values.

    Args:
        first: the numerator.
        second: the denominator.
        denominator: where the denominator stands, so that it can be agreed on.
    """
    first, second = as_value(first), as_value(second)
    if second.kind is Kind.NOTHING:
        return first
    found = unknown_among(first, second)
    if found is not None:
        return found
    if first.kind is Kind.NOTHING:
        return NOTHING
    if second.kind is Kind.PART:
        if second.gradient:
            return unknown("its denominator depends on the samples and is trained", whole=True)
        if second.degree is None or denominator is None:
            return unknown("its denominator differs between the processes", whole=True)
        second = replace(second, kind=Kind.EQUAL, pending=second.pending | frozenset({denominator}))
    if second.kind is Kind.SAMPLE:
        if first.kind is Kind.PART:
            return unknown(STATISTIC)
        return multiply(first, second.scaled(-2 * (second.degree or 0)))
    if second.degree is None:
        return unknown("its denominator adds up things of different scale", whole=True)
    return multiply(first, second.scaled(-2 * second.degree))


def nonlinear(word: str, *several: Quantity) -> Quantity:
    """A function that is not linear, applied to each element."""
    values = [one for one in map(as_value, several) if one.kind is not Kind.NOTHING]
    if not values:
        return equal(tensor=any(one.tensor for one in several))
    found = unknown_among(*values)
    if found is not None:
        return found
    pending = frozenset[Pending]().union(*(one.pending for one in values))
    if any(one.kind is Kind.PART or one.coupled for one in values):
        if any(one.kind is Kind.SAMPLE for one in values):
            return replace(unknown(STATISTIC), pending=pending)
        reason = f"{word} of a number over the batch is not that of its parts"
        return replace(unknown(reason, whole=True), pending=pending)
    if any(one.degrees != frozenset({0}) for one in values):
        reason = f"{word} of something that grows with the batch size"
        return replace(unknown(reason, whole=True), pending=pending)
    result = values[0]
    for one in values[1:]:
        first, second = sample_first(result, one)
        if second.kind is Kind.SAMPLE:
            result = merged_samples(first, second)
        else:
            result = replace(
                first,
                terms=first.terms | second.terms,
                tensor=first.tensor or second.tensor,
                pending=first.pending | second.pending,
            )
        if result.kind is Kind.UNKNOWN:
            return result
    return replace(result, content="")


def total(quantity: Quantity) -> Quantity:
    """The sum of all elements."""
    if quantity.kind is Kind.UNKNOWN:
        return replace(quantity, whole=True)
    if quantity.kind is Kind.SAMPLE:
        return Quantity(
            Kind.PART, quantity.scaled(1).terms, tensor=quantity.tensor, pending=quantity.pending
        )
    return as_value(quantity)


def average(quantity: Quantity) -> Quantity:
    """The mean of all elements."""
    if quantity.kind is Kind.UNKNOWN:
        return replace(quantity, whole=True)
    if quantity.kind is Kind.SAMPLE:
        if quantity.selection:
            return unknown(
                "it is a mean over some of the samples, and how many differs by process", whole=True
            )
        return Quantity(Kind.PART, quantity.terms, tensor=quantity.tensor, pending=quantity.pending)
    return as_value(quantity)


def join(first: Quantity, second: Quantity) -> Quantity:
    """One of two values, nobody knows which."""
    if first is second:
        return first
    if first.kind is Kind.NOTHING or second.kind is Kind.NOTHING:
        return over_nothing(first, second)
    found = unknown_among(first, second)
    if found is not None:
        return found
    if first.agreed != second.agreed:
        # What a helper returns in one process, and what it returns in several.
        return first if first.agreed else second
    if first.kind is Kind.SHAPE or second.kind is Kind.SHAPE:
        return first if first.kind is second.kind else equal(tensor=False)
    first, second = sample_first(first, second)
    tensor = first.tensor or second.tensor
    pending = first.pending | second.pending
    if first.kind is Kind.SAMPLE and second.kind is Kind.SAMPLE:
        if first.degrees != second.degrees:
            return unknown("its samples are scaled by the batch size in two ways", certain=True)
        return replace(
            first,
            terms=first.terms | second.terms,
            dim=first.dim if first.dim == second.dim else None,
            selection=first.selection or second.selection,
            content=first.content if first.content == second.content else "",
            coupled=first.coupled or second.coupled,
            pending=pending,
        )
    if first.kind is Kind.EQUAL and second.kind is Kind.EQUAL:
        for one, other in ((first, second), (second, first)):
            if one.degrees == frozenset({0}) and not one.gradient and not one.tensor:
                # A stand-in, such as the number of processes where there is only one.
                return replace(other, tensor=tensor, pending=pending)
    elif second.kind is Kind.EQUAL and (not second.gradient or first.kind is Kind.SAMPLE):
        # A starting value, or a stand-in for what is switched off.
        return replace(first, tensor=tensor, pending=pending)
    if first.degrees != second.degrees:
        return unknown(
            "it is taken over the batch in different ways on different paths", whole=True
        )
    kind = first.kind if first.kind is not Kind.SAMPLE else Kind.UNKNOWN
    if kind is Kind.UNKNOWN:
        return unknown("it is one thing for each sample on one path and one for all on another")
    return Quantity(
        kind, first.terms | second.terms, tensor=tensor, agreed=first.agreed, pending=pending
    )
