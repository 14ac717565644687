"""What all parts of the analysis of calls share."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Set
from fractions import Fraction

import libcst as cst

from transpile.facts.values import Constant, External, Function, Instance, Opaque, Value, Values
from transpile.plan.graph import identity
from transpile.plan.model import Plan

from . import algebra, domain
from .domain import Kind, Quantity
from .sample_axis.shapes import Given


class Looking(ABC):
    """What all parts of the analysis of calls share: a look at what is settled already.

    Args:
        plan: the plan.
        whole: take numbers that leave the tensors as those of the global batch.
    """

    def __init__(self, plan: Plan, whole: bool = False) -> None:
        self.plan = plan
        self.vocabulary = plan.table.quantities
        self.whole = whole
        self.models: set[int] = set()
        self.reductions = find_reductions(plan)
        self.batch_sizes = {
            identity(value)
            for loader in plan.training_loaders
            for argument in (loader.argument("batch_size"),)
            if argument is not None
            for value in argument.values
            if isinstance(value, (Opaque, Constant, External))
        }
        written = re.compile(rf"(?<![\w.)\]]){self.vocabulary.left_out}(?![\w.%])")
        self.marks_left_out = any(
            written.search(module.source.text) for module in plan.facts.modules.values()
        )

    @abstractmethod
    def look(self, values: Values) -> Quantity:
        """The quantity of alternatives, as far as it is settled."""

    @abstractmethod
    def look_one(self, value: Value) -> Quantity:
        """The quantity of one value, as far as it is settled."""

    @abstractmethod
    def is_batch_size(self, values: Values) -> bool:
        """Whether a size is what a training loader is given as its batch size."""

    @abstractmethod
    def counted(self, tensor: Quantity, position: int | None) -> Quantity:
        """The size of a tensor along a dimension, or its number of elements (None)."""

    @abstractmethod
    def batch_of(self, value: Value) -> bool | None:
        """Whether a value is a batch of a training loader (True) or another (False); else None."""

    @abstractmethod
    def rows_of_view(self, value: Opaque, given: Given) -> Fraction | None:
        """How many rows a view of samples has for each of them; None if unknown."""

    @abstractmethod
    def filled_by_samples(self, value: Value) -> Quantity | None:
        """A container whose contents samples decide on; None for others."""

    @abstractmethod
    def is_picked_by_samples(self, value: Value) -> bool:
        """Whether samples of a batch decide which elements of others a list holds."""

    @abstractmethod
    def of_pass(self, layer: Instance, dim: int) -> Quantity:
        """What the pass of a layer of the project gives for samples along a dimension."""

    @abstractmethod
    def known_models(self) -> Set[int]:
        """The class definitions of models."""

    def given(self, value: Opaque) -> list[Quantity]:
        """The quantities of all arguments."""
        found = [self.look(argument.values) for argument in value.arguments.items]
        rest = value.arguments.rest
        return [*found, self.look(rest)] if rest else found

    def nothing_known(self, value: Opaque, what: str) -> Quantity:
        """What something gives that cannot be analysed."""
        given = self.given(value)
        by = self.look(answers(value, self.plan))
        if by.kind in (Kind.SAMPLE, Kind.PART) or (by.kind is Kind.UNKNOWN and by.sampled):
            return domain.unknown(f"nothing is known of {what}", whole=True)
        if all(one.independent for one in given):
            return domain.equal(gradient=any(one.gradient for one in given))
        found = algebra.unknown_among(*given)
        if found is not None:
            return found
        return domain.unknown(f"nothing is known of {what}")


def answers(value: Opaque, plan: Plan) -> Values:
    """What the lambdas that a call is handed give."""
    return tuple(
        one
        for argument in value.arguments.items
        for function in argument.values
        if isinstance(function, Function) and isinstance(function.node, cst.Lambda)
        for one in plan.facts.values_of(function.node.body)
    )


def find_reductions(plan: Plan) -> dict[int, str]:
    """The values that ``all_reduce`` works on, with its operation."""
    found: dict[int, str] = {}
    for event in plan.facts.calls_to(*plan.table.quantities.sums):
        tensor = event.arguments.get("tensor", 0)
        chosen = event.arguments.get("op", 1)
        word = "SUM"
        for value in chosen.values if chosen is not None else ():
            if isinstance(value, External):
                word = value.name.rpartition(".")[2]
        for value in tensor.values if tensor is not None else ():
            found[id(value)] = word
    return found
