"""Whether the loss of a batch adds up over its samples or is their mean."""

from __future__ import annotations

from enum import Enum
from functools import cached_property

import libcst as cst

from transpile.facts.values import Constant, Opaque, Value, Values, only_constant
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.quantity import domain
from transpile.quantity.algebra import EITHER
from transpile.quantity.asking import Analysis
from transpile.quantity.domain import Kind, Quantity
from transpile.quantity.sample_axis.pieces import handed
from transpile.quantity.sample_axis.shapes import Given
from transpile.rules.mxnet._roles import training_loaders


class Reduction(Enum):
    """How the gradient of a batch grows with its samples."""

    SAMPLES = "one number for each sample"
    SUM = "sum"
    MEAN = "mean"
    NONE = "none"
    UNEVEN = "sum, and something that the samples have no part in"
    COUPLED = "no sum or mean: something made of the sum or mean of the batch"
    UNKNOWN = "unknown"


class Shares(Analysis):
    """The quantities of one plan's values, where batches may be cut by index or drawn.

    Args:
        plan: the plan.
        own: the identities of such batches, and of the symbols that stand for them.
    """

    def __init__(self, plan: Plan, own: frozenset[int]) -> None:
        super().__init__(plan)
        self.own = own

    def transfer_one(self, value: Value) -> Quantity:
        """The quantity of a value before it is seen in its surroundings."""
        return domain.sample() if id(value) in self.own else super().transfer_one(value)

    def regroups(self, tensor: Quantity, given: Given, value: Opaque) -> bool:
        """Whether a reshape may put several samples of a batch into one row."""
        one = self.joins.batches_in(handed(value)) == 1
        return not (one and self.batch_axis("reshape", given) == 0) and super().regroups(
            tensor, given, value
        )

    def batch_axis(self, plain: str, given: Given) -> int | None:
        """Along which axis a reshape has the samples of the batch: by any literal the first."""
        shape = given.positional() if plain == "reshape" else []
        if shape and self.is_size_of_batch(shape[0]):
            return 0
        return next((at for at, values in enumerate(shape) if self.is_batch_size(values)), None)

    def is_size_of_batch(self, values: Values) -> bool:
        """Whether values are the batch size of training data, or a literal of that number."""
        size = only_constant(values)
        return self.is_batch_size(values) or (size is not None and size in self.sizes)

    @cached_property
    def sizes(self) -> list[Value]:
        """The batch sizes of the training data that are numbers above 1."""
        return [
            value
            for loader in training_loaders(self.plan)
            for argument in (loader.argument("batch_size"),)
            for value in (argument.values if argument is not None else ())
            if isinstance(value, Constant) and type(value.value) is int and value.value > 1
        ]


@query
def shares(plan: Plan) -> Shares:
    """The quantities of a plan; made once for all rules."""
    from transpile.rules.mxnet.data._draws import noise
    from transpile.rules.mxnet.data._slices import cut_values
    from transpile.rules.mxnet.losses._symbols import inputs

    return Shares(plan, frozenset(cut_values(plan) | noise(plan) | inputs(plan)))


def reduction(plan: Plan, values: Values) -> Reduction:
    """How the loss that a backward pass starts from is reduced."""
    found = shares(plan).of(values)
    if found.kind is Kind.SAMPLE:
        return Reduction.COUPLED if found.coupled else Reduction.SAMPLES
    if found.kind is Kind.PART:
        degrees = {term.degree for term in found.terms if term.gradient} or found.degrees
        if found.pending:
            return Reduction.COUPLED
        if len(degrees) > 1:
            return Reduction.UNEVEN if degrees == {0, 1} else Reduction.UNKNOWN
        return {0: Reduction.MEAN, 1: Reduction.SUM}.get(found.degree or 0, Reduction.UNKNOWN)
    if found.kind is Kind.UNKNOWN:
        known = found.sampled and not found.reason.startswith((*NOTHING_KNOWN, *EITHER))
        return Reduction.COUPLED if known else Reduction.UNKNOWN
    return Reduction.NONE


def count_degree(plan: Plan, values: Values) -> int:
    """How often a number of samples that all workers have alike is a factor of values; else 0."""
    found = shares(plan).of(values)
    return (found.degree or 0) if found.kind is Kind.EQUAL and not found.pending else 0


#: How reasons begin where what is called is in no table.
NOTHING_KNOWN = ("nothing is known", "the dimensions of", "the reduction of")


def is_size(values: Values) -> bool:
    """Whether values are the number of samples of a batch, as in ``data.shape[0]``."""
    return any(from_shape(value, 0) for value in values)


def from_shape(value: Value, depth: int) -> bool:
    """Whether a value is read off a shape."""
    if depth > 6 or not isinstance(value, Opaque):
        return False
    if value.kind == "attribute" and value.name in ("shape", "size"):
        return True
    if value.kind == "operation" and value.name == "len":
        return True
    return any(from_shape(v, depth + 1) for group in value.operands for v in group)


def picks_samples(value: Value) -> bool:
    """Whether a value is some samples of a batch, taken by their places, as in ``output[:4]``."""
    if not isinstance(value, Opaque) or value.kind != "item":
        return False
    if not isinstance(value.node, cst.Subscript) or not value.node.slice:
        return False
    bounds = value.node.slice[0].slice
    if not isinstance(bounds, cst.Slice) or (bounds.lower is None and bounds.upper is None):
        return False
    # A shape is no batch, nor is what a loader delivers: a list of arrays.
    return not any(from_shape(base, 0) or is_delivered(base) for base in value.operands[0])


def is_delivered(value: Value) -> bool:
    """Whether a value is what a loop draws, and no part of it."""
    return (
        isinstance(value, Opaque)
        and value.kind == "element"
        and not any(isinstance(v, Opaque) and v.kind == "element" for v in value.operands[0])
    )
