"""Numbers that are reduced where they get into an object or a list.

What is read from there later is of all processes already; the same number where it has not got in
is still of one.
"""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import (
    BoundMethod,
    Class,
    Function,
    Instance,
    Mapping,
    Opaque,
    Sequence,
    Value,
    Values,
)
from transpile.facts.walk import returned
from transpile.plan.flow.places import function_of
from transpile.plan.model import Plan
from transpile.plan.models.holders import bindings
from transpile.records import dataclass

#: Names of names, and functions that give what functions give, are followed so far.
DEEPEST = 4


@dataclass(frozen=True, eq=False)
class Entry:
    """An argument by which a number gets into an object or a list.

    Args:
        module: where it stands.
        node: what is handed over.
        values: what it may be.
        event: the call that takes it.
    """

    module: Module
    node: cst.BaseExpression
    values: Values
    event: Event

    @property
    def containers(self) -> frozenset[int]:
        """What takes it in, by identity."""
        found: set[int] = set()
        for callee in self.event.callee:
            if isinstance(callee, BoundMethod):
                found.add(id(callee.receiver))
            elif isinstance(callee, Opaque):
                found.update(id(one) for operand in callee.operands for one in operand)
        return frozenset(found)

    @property
    def classes(self) -> Iterable[Class]:
        """The classes of the project that take it in."""
        for callee in self.event.callee:
            if isinstance(callee, BoundMethod) and isinstance(callee.receiver, Instance):
                for cls in callee.receiver.cls.ancestry():
                    if isinstance(cls, Class):
                        yield cls


class Entered:
    """Tells whether a number that got into an object is read from there.

    Args:
        plan: the plan.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.entries: dict[int, list[Entry]] = {}

    def add(self, entry: Entry) -> None:
        """Note where a number gets in."""
        for value in entry.values:
            self.entries.setdefault(id(value), []).append(entry)

    def of(self, value: Value) -> list[Entry]:
        """Where a value gets in."""
        return self.entries.get(id(value), [])

    def is_read(
        self, value: Value, node: cst.CSTNode | None, module: Module | None, holder: Value | None
    ) -> bool | None:
        """Whether an expression reads a value from what it got into; None where it is not known.

        Args:
            value: a number that got in somewhere.
            node: the expression, where it is known.
            module: where that stands.
            holder: the container that the value is taken from, where it is known.
        """
        entries = self.of(value)
        if isinstance(holder, (Sequence, Mapping)):
            inside = all(id(holder) in entry.containers for entry in entries)
            return True if inside else None
        if node is None or module is None:
            return None
        if self.is_where_made(value, node, module, DEEPEST):
            return False
        read = all(self.reads(entry, node, module) for entry in entries)
        return True if read else None

    def reads(self, entry: Entry, node: cst.CSTNode, module: Module) -> bool:
        """Whether an expression is of an object that a number got into, or stands in its class."""
        around = {id(outer) for outer in module.source.parents(node)}
        if any(id(cls.node) in around for cls in entry.classes):
            return True
        while isinstance(node, (cst.Attribute, cst.Subscript, cst.Call)):
            node = node.func if isinstance(node, cst.Call) else node.value
            values = self.plan.facts.values_of(node)
            if values and all(id(one) in entry.containers for one in values):
                return True
        return False

    def is_where_made(self, value: Value, node: cst.CSTNode, module: Module, depth: int) -> bool:
        """Whether an expression makes a value, or is a name that is given it where it is made."""
        if isinstance(value, Opaque) and node is value.node:
            return True
        if not depth:
            return False
        if isinstance(node, cst.Name):
            scope = function_of(module, node) or module.source.tree
            given = bindings(scope).get(node.value, [])
            return bool(given) and all(
                one is not None and self.is_made_by(value, one, module, depth - 1) for one in given
            )
        return isinstance(node, cst.Call) and self.is_returned(value, node, depth - 1)

    def is_made_by(self, value: Value, node: cst.CSTNode, module: Module, depth: int) -> bool:
        """Whether an expression that a name is given makes a value, or gives it another."""
        if isinstance(node, cst.BaseExpression):
            values = self.plan.facts.values_of(node)
            if not any(one is value for one in values):
                return True
        return self.is_where_made(value, node, module, depth)

    def is_returned(self, value: Value, call: cst.Call, depth: int) -> bool:
        """Whether what is called is a plain function of the project that makes a value."""
        callees = self.plan.facts.values_of(call.func)
        functions = [one for one in callees if isinstance(one, Function)]
        if not functions or len(functions) < len(callees):
            return False
        for function in functions:
            if not isinstance(function.node, cst.FunctionDef):
                return False
            for node in returned(function.node):
                if not self.is_made_by(value, node, function.module, depth):
                    return False
        return True
