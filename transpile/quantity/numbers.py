"""The quantities of plain numbers, of sums and of powers."""

from __future__ import annotations

from transpile.facts.values import Mapping, Opaque, Sequence, Value, Values, only_constant
from transpile.plan.graph import called_names
from transpile.records import replace

from . import algebra, domain
from .domain import Duty, Kind, Pending, Quantity
from .models.outputs import Models
from .tensors.norms import squared_norm


class Numbers(Models):
    """The part of the analysis that knows numbers."""

    def as_number(self, quantity: Quantity, value: Opaque) -> Quantity:
        """A quantity as a plain number that left the tensors: equal once it is reduced."""
        number = quantity.number()
        if number.kind is Kind.SAMPLE or not self.vocabulary.numbers_wait:
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
            elif self.is_picked_by_samples(value):
                found = algebra.add(found, algebra.total(self.look((value,))))
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

    def power(self, base: Quantity, exponent: Values, made: Values) -> Quantity:
        """``base ** exponent``, with the values that are taken to the power."""
        squares = squared_norm(self.look, made, exponent)
        if squares is not None:
            return squares
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

    def all_reduced(self, quantity: Quantity, value: Value, operation: str) -> Quantity:
        """A value that ``all_reduce`` has worked on."""
        if quantity.agreed:
            # The same tensor on another device.
            return quantity
        degree = 0 if operation == "AVG" else -1
        if quantity.kind in (Kind.PART, Kind.EQUAL) and operation in ("SUM", "AVG"):
            found = replace(
                quantity.scaled(degree).without_gradient(), kind=Kind.EQUAL, agreed=True
            )
            if not self.adds_up(value):
                return found
            left = (each for each in found.pending if each.duty is not Duty.NUMBER)
            return replace(found, pending=frozenset(left))
        return replace(domain.equal(), agreed=True)

    def adds_up(self, value: Value) -> bool:
        """Whether it is the same to reduce a value or the numbers that it is a sum of."""
        seen: set[int] = set()
        stack: list[Value] = [value]
        while stack:
            one = stack.pop()
            if id(one) in seen or not self.leaves_later(one):
                continue
            seen.add(id(one))
            if isinstance(one, Sequence):
                stack.extend(each for part in (*one.elements, one.rest) for each in part)
            elif not isinstance(one, Opaque):
                return False
            elif one.kind == "operation" and one.name in ("Add", "Subtract", "Multiply", "Divide"):
                both = all(any(map(self.leaves_later, side)) for side in one.operands)
                divides = one.name == "Divide" and any(map(self.leaves_later, one.operands[-1]))
                if divides or (both and one.name == "Multiply"):
                    return False
                stack.extend(each for side in one.operands for each in side)
            elif self.lists(one):
                stack.extend(each for item in one.arguments.items for each in item.values)
            elif not any(each.node is one.node for each in self.look((one,)).pending):
                return False
        return True

    def lists(self, value: Opaque) -> bool:
        """Whether a call makes a tensor of a list of numbers."""
        return any(
            name.startswith(self.vocabulary.tensors)
            and self.vocabulary.operation(name.rpartition(".")[2]) == "tensor"
            for name in called_names(value)
        )

    def leaves_later(self, value: Value) -> bool:
        """Whether something in a number is still to be reduced where it leaves the tensors."""
        return any(each.duty is Duty.NUMBER for each in self.look((value,)).pending)


def guarded(word: str, given: list[Quantity]) -> Quantity | None:
    """``max(value, 1)``: the value, where the others are plain numbers that it is kept from."""
    others = [one for one in given if not (one.independent and not one.tensor)]
    if len(others) == 1 and len(given) == 2:
        bounds = [one for one in given if one is not others[0]]
        return algebra.bounded(word, others[0], bounds, below=word in ("max", "maximum"))
    return None
