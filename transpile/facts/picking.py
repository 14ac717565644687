"""What takes elements out of containers by computed places: ``[rows[i] for i in order]``.

An element of a list of the script stands for itself wherever it is taken from the list, so that
what is done to it is seen. Which one it is, only the place tells: a new list of such elements
keeps the places that they were picked by.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.state import State, call_frames
from transpile.facts.values import (
    BoundMethod,
    Class,
    Function,
    Instance,
    Mapping,
    Opaque,
    Scope,
    Sequence,
    Value,
    Values,
    join,
    only_constant,
)
from transpile.facts.walk import children, descendants

COMPREHENSIONS = (cst.ListComp, cst.SetComp, cst.GeneratorExp, cst.DictComp)
#: Operations that give the elements of what they go over, as they are.
PASSING = frozenset({"enumerate", "iterate", "zip"})


class Picking(State):
    """The part of the interpreter that knows what elements of containers were picked by."""

    def note_pick(self, base: Values, index: Values, node: cst.CSTNode) -> None:
        """Remember that an expression picks from containers by an index that is computed."""
        if not index or only_constant(index) is not None:
            return
        if any(isinstance(one, (Sequence, Mapping)) or self.picks_items(one) for one in base):
            key = (id(node), self.context)
            self.picks[key] = join(self.picks.get(key, ()), index)
            self.picking.update(id(frame.function.node) for frame in call_frames(self.stack))

    def picks_items(self, value: Value) -> bool:
        """Whether an object's items are picked by its own code."""
        return isinstance(value, Instance) and any(
            self.does_pick(cls.scope.names.get("__getitem__", ()))
            for cls in value.cls.ancestry()
            if isinstance(cls, Class)
        )

    def does_pick(self, functions: Values) -> bool:
        """Whether a function of the project picks from containers by a computed index."""
        return any(
            isinstance(one, (Function, BoundMethod)) and id(function_of(one).node) in self.picking
            for one in functions
        )

    def note_picked(self, target: cst.CSTNode, picked: Values, gone_over: Values = ()) -> None:
        """Remember what the value of a name was picked by, and what it is an element of."""
        for name in names_in(target):
            key = (id(self.activation.scope), name)
            for table, known in ((self.picked_names, picked), (self.gone_over, gone_over)):
                if known:
                    table[key] = known
                else:
                    table.pop(key, None)

    def picked_in(self, expression: cst.CSTNode, by: frozenset[str] | None = None) -> Values:
        """What decides which elements of containers an expression picks.

        What lists are picked by that the expression makes, they keep themselves.

        Args:
            expression: the expression, evaluated in the current scope.
            by: names, one of which what decides must be made of; None for any.
        """
        if not self.picks and not self.picked_names:
            return ()
        found: Values = ()
        places = self.places_to_pick.get(id(expression))
        if places is None:
            places = self.places_to_pick[id(expression)] = list(picking_in(expression))
        for node in places:
            if isinstance(node, cst.Name):
                if by is None or node.value in by:
                    known = self.look_up(self.picked_names, node.value)
                    found = join(found, known) if known else found
                continue
            picked = self.picks.get((id(node), self.context), ())
            within = isinstance(node, cst.Call) and self.does_pick(
                self.values.get(id(node.func), ())
            )
            names: set[str] = set()
            if picked or within:
                parts = node.slice if isinstance(node, cst.Subscript) else node.args
                names.update(name for part in parts for name in names_read(part))
            if names and (by is None or names & by):
                gone_over = (self.look_up(self.gone_over, name) for name in sorted(names))
                found = join(found, picked, *gone_over)
        return found

    def look_up(self, table: dict[tuple[int, str], Values], name: str) -> Values:
        """What a table has for a name, in the scope that it is bound in; empty for nothing."""
        scope: Scope | None = self.activation.scope
        while scope is not None:
            if name in scope.names:
                return table.get((id(scope), name), ())
            scope = scope.parent
        return ()

    def pick_into(self, sequence: Sequence, picked: Values) -> None:
        """Note what elements of a sequence were picked by."""
        joined = join(sequence.picked, picked)
        if joined != sequence.picked:
            sequence.picked = joined
            self.heap_version += 1


def picking_in(expression: cst.CSTNode) -> Iterator[cst.Name | cst.Subscript | cst.Call]:
    """The parts of an expression that may pick an element, or be what was picked before."""
    stack = [expression]
    while stack:
        node = stack.pop()
        if isinstance(node, cst.Name):
            yield node
            continue
        if isinstance(node, COMPREHENSIONS):
            continue
        if isinstance(node, (cst.Subscript, cst.Call)):
            yield node
        stack.extend(children(node))


def function_of(value: Function | BoundMethod) -> Function:
    """The function that a value is, or that it binds to an object."""
    return value.function if isinstance(value, BoundMethod) else value


def picked_from(values: Values) -> Values:
    """What the elements of any of some containers were picked by."""
    found: Values = ()
    for value in values:
        if isinstance(value, Sequence):
            found = join(found, value.picked)
        elif isinstance(value, Opaque) and value.kind == "operation" and value.name in PASSING:
            for operand in value.operands:
                found = join(found, picked_from(operand))
    return found


def names_read(node: cst.CSTNode) -> Iterator[str]:
    """The names that an expression reads."""
    return (one.value for one in descendants(node) if isinstance(one, cst.Name))


def names_in(target: cst.CSTNode) -> Iterator[str]:
    """The names that an assignment target binds."""
    if isinstance(target, cst.Name):
        yield target.value
    elif isinstance(target, (cst.Tuple, cst.List)):
        for element in target.elements:
            yield from names_in(element.value)
