"""How a value depends on the training batch of one process.

Every process holds an equal share of the global batch. What the script computes from it is then,
over the global batch, the mean of what the processes have (a mean), their sum (a sum, a number of
samples), the same (what is independent of the samples), or something that cannot be told.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from transpile.rules.paddle.losses._denominators import Pending


class Kind(Enum):
    """The ways in which a value depends on the batch."""

    NOTHING = "nothing"
    """No value yet, or zero: neutral in sums and choices."""
    EQUAL = "independent of the samples"
    COUNT = "a number of samples"
    SHAPE = "the shape of a tensor of samples"
    SAMPLES = "a tensor with an entry for each sample"
    MEAN = "a mean over the batch"
    SUM = "a sum over the batch"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Quantity:
    """What a value is.

    Args:
        kind: in which way it depends on the batch.
        reason: why it is unknown.
        agreed: it was taken over all processes.
        averaged: it is the average of what they have.
        pending: what must be rewritten before this holds.
        coupled: an unknown that makes one sample depend on the others, for certain.
    """

    kind: Kind
    reason: str = ""
    agreed: bool = False
    averaged: bool = False
    pending: frozenset[Pending] = frozenset()
    coupled: bool = False


NOTHING, EQUAL, COUNT, SHAPE, SAMPLES, MEAN, SUM = (
    Quantity(kind)
    for kind in (
        Kind.NOTHING, Kind.EQUAL, Kind.COUNT, Kind.SHAPE, Kind.SAMPLES, Kind.MEAN, Kind.SUM
    )
)  # fmt: skip
AGREED = Quantity(Kind.EQUAL, agreed=True)
#: Numbers of one process whose counterpart over the global batch is known.
REDUCIBLE = frozenset({Kind.MEAN, Kind.SUM})


#: Samples that a number for the whole batch is put together with.
COMBINED = Quantity(
    Kind.UNKNOWN, "it combines single samples with a number for the whole batch", coupled=True
)


def unknown(reason: str) -> Quantity:
    """A quantity that cannot be told."""
    return Quantity(Kind.UNKNOWN, reason)


def with_pending(found: Quantity, *parts: Quantity) -> Quantity:
    """A quantity that holds once what its parts wait for is rewritten."""
    pending = found.pending.union(*(part.pending for part in parts))
    return replace(found, pending=pending) if pending else found


def join(first: Quantity, second: Quantity) -> Quantity:
    """What is one or the other."""
    return with_pending(joined(first, second), first, second)


def joined(first: Quantity, second: Quantity) -> Quantity:
    """What is one or the other, whatever must be rewritten for it."""
    if first.kind is second.kind and first.pending != second.pending:
        return first
    if first == second or second.kind is Kind.NOTHING:
        return first
    if first.kind is Kind.NOTHING:
        return second
    if first.agreed or second.agreed:
        # One process takes the value as it is, several take it over all of them.
        return replace(AGREED, averaged=first.averaged or second.averaged)
    for one in (first, second):
        if one.kind is Kind.UNKNOWN:
            return one
    if {first.kind, second.kind} == {Kind.EQUAL, Kind.MEAN}:
        return MEAN
    if {first.kind, second.kind} == {Kind.EQUAL, Kind.SAMPLES}:
        return SAMPLES
    return unknown(f"it is {first.kind.value} on one way and {second.kind.value} on another")


def add(first: Quantity, second: Quantity) -> Quantity:
    """The sum or difference of two values."""
    first, second = plain(first), plain(second)
    kinds = {first.kind, second.kind}
    if kinds == {Kind.SUM, Kind.EQUAL} or kinds == {Kind.SUM, Kind.MEAN}:
        return unknown(
            "it adds a sum over the batch to something that is no such sum: with N processes the "
            "sum has 1/N of its weight"
        )
    if kinds == {Kind.SAMPLES, Kind.MEAN} or kinds == {Kind.SAMPLES, Kind.SUM}:
        return COMBINED
    return join(first, second)


def plain(quantity: Quantity) -> Quantity:
    """The same, whatever it was taken over."""
    return EQUAL if quantity.agreed else quantity


def multiply(first: Quantity, second: Quantity) -> Quantity:
    """The product of two values."""
    return with_pending(product(first, second), first, second)


def product(first: Quantity, second: Quantity) -> Quantity:
    """The product of two values, whatever must be rewritten for it."""
    if Kind.UNKNOWN in (first.kind, second.kind):
        return first if first.kind is Kind.UNKNOWN else second
    if Kind.NOTHING in (first.kind, second.kind):
        return second if first.kind is Kind.NOTHING else first
    if first.kind is Kind.EQUAL or second.kind is Kind.EQUAL:
        return second if first.kind is Kind.EQUAL else first
    kinds = {first.kind, second.kind}
    if kinds == {Kind.SAMPLES}:
        return SAMPLES
    if kinds == {Kind.MEAN, Kind.COUNT}:
        return SUM
    if kinds in ({Kind.SAMPLES, Kind.MEAN}, {Kind.SAMPLES, Kind.SUM}):
        return COMBINED
    return unknown("it multiplies two numbers that are taken over the batch")


def divide(first: Quantity, second: Quantity) -> Quantity:
    """The quotient of two values."""
    return with_pending(quotient(first, second), first, second)


def quotient(first: Quantity, second: Quantity) -> Quantity:
    """The quotient of two values, whatever must be rewritten for it."""
    if second.kind in (Kind.EQUAL, Kind.NOTHING):
        return first
    if Kind.UNKNOWN in (first.kind, second.kind):
        return first if first.kind is Kind.UNKNOWN else second
    if second.kind is Kind.COUNT and first.kind is Kind.SUM:
        return MEAN
    if second.kind is Kind.COUNT and first.kind is Kind.COUNT:
        return EQUAL
    if second.kind is Kind.SAMPLES and first.kind in (Kind.SAMPLES, Kind.EQUAL):
        return SAMPLES
    if first.kind is Kind.SAMPLES and second.kind in (Kind.MEAN, Kind.SUM):
        return COMBINED
    return unknown("its denominator differs between the processes")


def scaled(quantity: Quantity) -> Quantity:
    """A value that is multiplied by the number of processes."""
    if quantity.kind is Kind.COUNT:
        return AGREED
    # The average of the scaled sums is the sum over all processes.
    return MEAN if quantity.kind is Kind.SUM else quantity


def nonlinear(given: list[Quantity]) -> Quantity:
    """A function that is applied to each element."""
    found = NOTHING
    for one in given:
        if one.kind is Kind.UNKNOWN:
            return one
        if one.kind in (Kind.MEAN, Kind.SUM):
            return unknown("it is a function of a number taken over the batch that is not linear")
        if one.kind is Kind.SAMPLES or found.kind in (Kind.NOTHING, Kind.EQUAL):
            found = one if one.kind is not Kind.NOTHING else found
    return found if found.kind is not Kind.NOTHING else EQUAL


def mixed(given: list[Quantity], what: str) -> Quantity:
    """What a function of unknown meaning makes of its arguments."""
    for one in given:
        if one.kind not in (Kind.EQUAL, Kind.NOTHING):
            return one if one.kind is Kind.UNKNOWN else unknown(f"it goes through {what}")
    return EQUAL


def layered(given: list[Quantity]) -> Quantity:
    """What a layer makes of its arguments."""
    coupled = next((one for one in given if one.coupled), None)
    if coupled is not None:
        return coupled
    if any(one.kind in (Kind.SAMPLES, Kind.UNKNOWN) for one in given):
        return SAMPLES
    return mixed(given, "a layer")
