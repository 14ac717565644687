"""The quantities of plain numbers, of sums and of powers."""

from __future__ import annotations

from transpile.facts.values import Mapping, Opaque, Sequence, Values, only_constant
from transpile.records import replace

from . import algebra, domain
from .domain import Duty, Kind, Pending, Quantity
from .models import Models


class Numbers(Models):
    """The part of the analysis that knows numbers."""

    def as_number(self, quantity: Quantity, value: Opaque) -> Quantity:
        """A quantity as a plain number that left the tensors: equal once it is reduced."""
        number = quantity.number()
        if number.kind is Kind.SAMPLE:
            return number
        if self.whole and number.kind in (Kind.PART, Kind.EQUAL):
            return domain.equal(tensor=False)
        if number.kind is Kind.PART and quantity.tensor:
            leaf = Pending(Duty.NUMBER, value.node, value.module)
            return replace(number, kind=Kind.EQUAL, pending=number.pending | {leaf})
        return number

    def summed(self, values: Values) -> Quantity:
        """The sum of the elements of a sequence, or of a tensor."""
        found = domain.NOTHING
        for value in values:
            picked = self.filled_by_samples(value)
            if picked is not None:
                # How many there are to add up is the samples' choice.
                found = algebra.add(found, picked)
            elif isinstance(value, Sequence):
                for element in (*value.elements, value.rest):
                    found = algebra.add(found, self.look(element))
            elif isinstance(value, Mapping):
                found = algebra.add(found, self.look(value.every()))
            else:
                one = self.look((value,))
                found = algebra.add(
                    found, one if self.is_model_call((value,)) else algebra.total(one)
                )
        return found

    def power(self, base: Quantity, exponent: Values) -> Quantity:
        """``base ** exponent``."""
        constant = only_constant(exponent)
        if base.kind is Kind.EQUAL and base.degree and constant is not None:
            if isinstance(constant.value, int):
                return base.scaled(base.degree * (constant.value - 1))
        if constant is not None and constant.value == 1:
            return base
        return algebra.nonlinear("a power", base, self.look(exponent))

    def gradients(self, value: Opaque) -> Quantity:
        """``torch.autograd.grad``: one gradient for each sample, where the inputs are samples."""
        outputs = value.arguments.get("outputs", 0)
        inputs = value.arguments.get("inputs", 1)
        of = self.look(outputs.values) if outputs is not None else domain.NOTHING
        to = self.look(inputs.values) if inputs is not None else domain.NOTHING
        if to.kind is Kind.SAMPLE and of.kind in (Kind.SAMPLE, Kind.PART):
            degree = (of.degree or 0) - (1 if of.kind is Kind.PART else 0)
            return replace(domain.sample(gradient=True).scaled(degree), dim=to.dim)
        if of.kind is Kind.SAMPLE:
            return algebra.total(of)
        return of

    def all_reduced(self, quantity: Quantity, operation: str) -> Quantity:
        """A value that ``all_reduce`` has worked on."""
        if quantity.agreed:
            # The same tensor on another device.
            return quantity
        degree = 0 if operation == "AVG" else -1
        if quantity.kind in (Kind.PART, Kind.EQUAL) and operation in ("SUM", "AVG"):
            return replace(quantity.scaled(degree).without_gradient(), kind=Kind.EQUAL, agreed=True)
        return replace(domain.equal(), agreed=True)


def guarded(word: str, given: list[Quantity]) -> Quantity | None:
    """``max(value, 1)``: the value, where the others are plain numbers that it is kept from."""
    others = [one for one in given if not (one.independent and not one.tensor)]
    if len(others) == 1 and len(given) == 2:
        bounds = [one for one in given if one is not others[0]]
        return algebra.bounded(word, others[0], bounds, below=word in ("max", "maximum"))
    return None
