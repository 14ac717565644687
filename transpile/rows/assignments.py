"""What assignments of a model do."""

from __future__ import annotations

import libcst as cst

from transpile.facts.values import Constant, Instance

from .domain import (
    PLAIN,
    Cell,
    Group,
    Held,
    Known,
    Record,
    Tensor,
    choice,
    options,
)
from .expressions import Expressions
from .items import unpacked
from .shapes import Impossible


class Assignments(Expressions):
    """The part of a run that knows assignments."""

    def bind(self, target: cst.CSTNode, value: Known) -> None:
        """Assign a value to a target."""
        if isinstance(target, cst.Name):
            self.frame.names[target.value] = value
        elif isinstance(target, (cst.Tuple, cst.List)):
            self.unpack(target, value)
        elif isinstance(target, cst.Attribute):
            self.bind_attribute(target, value)
        elif isinstance(target, cst.Subscript):
            self.bind_item(target, value)
        elif isinstance(target, cst.StarredElement):
            self.bind(target.value, value)

    def unpack(self, target: cst.Tuple | cst.List, value: Known) -> None:
        """Assign the elements of a value to several targets."""
        wanted = len(target.elements)
        starred = next(
            (
                place
                for place, one in enumerate(target.elements)
                if isinstance(one, cst.StarredElement)
            ),
            None,
        )
        columns: list[list[Known]] = [[] for _ in range(wanted)]
        possible = False
        several = (unpacked(one, wanted) if starred is None else one for one in options(value))
        for option in (settled for one in several for settled in self.attempt(one)):
            if isinstance(option, Constant) and option.value is None:
                continue
            elements, rest = self.elements_of(option, wanted)
            if starred is not None and rest is None:
                behind = wanted - starred - 1
                if len(elements) < wanted - 1:
                    continue
                middle = elements[starred : len(elements) - behind]
                elements = [
                    *elements[:starred],
                    Group(tuple(middle)),
                    *elements[len(elements) - behind :],
                ]
            if rest is None and len(elements) != wanted:
                continue
            possible = True
            for place in range(wanted):
                if place < len(elements):
                    columns[place].append(elements[place])
                elif rest is not None:
                    columns[place].append(rest)
        if not possible:
            raise Impossible
        for one, column in zip(target.elements, columns, strict=True):
            self.bind(one.value, choice(*column))

    def bind_attribute(self, target: cst.Attribute, value: Known) -> None:
        """``base.name = value``."""
        base = self.evaluate(target.value)
        if isinstance(base, Held):
            for owner in base.values:
                self.store_attribute(owner, target.attr.value, value)
        elif isinstance(base, Tensor) and target.attr.value in ("data", "grad"):
            self.library.store(self, base, (), value)
        elif self.sampled(value):
            self.problems.append(self.unknown(f"'.{target.attr.value}' is written", "state"))

    def store_attribute(self, owner: object, word: str, value: Known) -> None:
        """Note what an object keeps under a name."""
        key = (id(owner), word)
        self.stores += 1
        self.stored[key] = value
        self.written[key] = choice(self.written[key], value) if key in self.written else value
        self.written_at.setdefault(key, self.site)
        self.words[key] = word
        if not isinstance(owner, Instance) and self.sampled(value):
            self.problems.append(self.unknown(f"'{word}' of another object is written", "state"))

    def bind_item(self, target: cst.Subscript, value: Known) -> None:
        """``base[index] = value``."""
        base = self.evaluate(target.value)
        index = self.index(target)
        if isinstance(base, Cell):
            held = self.held(base)
            key = index[0] if len(index) == 1 else PLAIN
            if isinstance(held, Record):
                entries = dict(held.entries)
                if isinstance(key, Constant):
                    entries[key.value] = value
                    self.heap[base] = Record(tuple(entries.items()), held.rest)
                else:
                    rest = value if held.rest is None else choice(held.rest, value)
                    self.heap[base] = Record(held.entries, rest)
            elif isinstance(held, Group):
                place = key.value if isinstance(key, Constant) else None
                if isinstance(place, int) and held.rest is None:
                    if -len(held.elements) <= place < len(held.elements):
                        elements = list(held.elements)
                        elements[place] = value
                        self.heap[base] = Group(tuple(elements))
                        return
                self.heap[base] = Group(
                    tuple(choice(one, value) for one in held.elements),
                    None if held.rest is None else choice(held.rest, value),
                )
            return
        if isinstance(base, (Held, Record, Group)):
            if self.sampled(value):
                self.problems.append(
                    self.coupled("samples are kept in an object that outlives the call", "state")
                )
            return
        for option in self.attempt(base):
            if isinstance(option, Tensor):
                self.library.store(self, option, index, value)
            elif self.sampled(value):
                self.problems.append(self.unknown("samples are kept in something", "state"))
