"""What iterating over values of a model gives."""

from __future__ import annotations

from abc import abstractmethod

from transpile.facts.values import (
    Constant,
    Value,
)

from .domain import (
    PLAIN,
    Coupled,
    Group,
    Held,
    Known,
    Record,
    Tensor,
    Unknown,
    choice,
)
from .statements import Statements


class Elements(Statements):
    """The part of a run that knows what iterating over something gives."""

    def elements_of(self, value: Known, wanted: int = 0) -> tuple[list[Known], Known | None]:
        """What iterating over a value gives: those in order, and what else may come."""
        firsts: list[list[Known]] = []
        rest: list[Known] = []
        several = list(self.attempt(value))
        for option in several:
            elements, other = self.elements_of_one(option, wanted)
            firsts.append(elements)
            if other is not None:
                rest.append(other)
        if len(firsts) == 1:
            return firsts[0], rest[0] if rest else None
        if firsts and len({len(one) for one in firsts}) == 1 and not rest:
            return [choice(*column) for column in zip(*firsts, strict=True)], None
        return [], choice(*(one for column in firsts for one in column), *rest)

    def elements_of_one(self, value: Known, wanted: int) -> tuple[list[Known], Known | None]:
        """The same for one alternative."""
        held = self.held(value)
        if isinstance(held, (Coupled, Unknown)):
            return [], held
        if isinstance(held, Group):
            return list(held.elements), held.rest
        if isinstance(held, Record) and held.ordered:
            return [each for _, each in held.entries], held.rest
        if isinstance(held, Record):
            keys = [Constant(key) for key, _ in held.entries]
            return list(keys), PLAIN if held.rest is not None else None
        if isinstance(held, Held):
            return self.elements_of_objects(held)
        if isinstance(held, Constant) and isinstance(held.value, str):
            return [Constant(one) for one in held.value], None
        if isinstance(held, Tensor):
            element = self.library.element(self, held)
            length = held.dims[0].size if held.dims else None
            if length is not None and not length.symbols and not held.dims[0].samples:  # type: ignore[index]
                return [element] * min(length.number, 64), None
            return ([element] * wanted, None) if wanted else ([], element)
        return [], PLAIN

    def elements_of_objects(self, held: Held) -> tuple[list[Known], Known | None]:
        """What iterating over containers of layers gives."""
        if len(held.values) == 1:
            found = self.library_elements(held.values[0])
            if found is not None:
                return found
        elements: list[Known] = []
        for value in held.values:
            found = self.library_elements(value)
            if found is not None:
                elements.extend([*found[0], *([found[1]] if found[1] is not None else [])])
        return [], choice(*elements) if elements else PLAIN

    @abstractmethod
    def library_elements(self, value: Value) -> tuple[list[Known], Known | None] | None:
        """The layers in a container of layers."""
