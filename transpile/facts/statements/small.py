"""Execution of statements that hold no others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import libcst as cst

from transpile.facts.picking import picked_from
from transpile.facts.state import truth
from transpile.facts.statements.definitions import Definitions
from transpile.facts.values import (
    Constant,
    Mapping,
    Sequence,
    join,
)


class SmallStatements(Definitions):
    """The part of the interpreter that knows statements of one line."""

    def execute_small(self, smalls: Any) -> bool:
        """Run the small statements of one line."""
        for small in smalls:
            kind = type(small)
            if kind in EXITS:
                if isinstance(small, cst.Return):
                    values = (
                        self.evaluate(small.value) if small.value is not None else (Constant(None),)
                    )
                    self.activation.returns = join(self.activation.returns, values)
                elif isinstance(small, cst.Raise) and small.exc is not None:
                    self.evaluate(small.exc)
                elif self.activation.loop_exits:
                    self.activation.loop_exits[-1].append(dict(self.activation.scope.names))
                self.record("exit", small, (), name=EXITS[kind])
                return False
            handler = SMALL.get(kind)
            if handler is not None:
                handler(self, small)
        return True

    def expression_statement(self, node: cst.Expr) -> None:
        """An expression on its own."""
        self.evaluate(node.value)

    def assign(self, node: cst.Assign) -> None:
        """``target = other = value``."""
        values = self.evaluate(node.value)
        picked = self.picked_in(node.value)
        for target in node.targets:
            self.bind_target(target.target, values)
            self.note_picked(target.target, picked)

    def annotated_assign(self, node: cst.AnnAssign) -> None:
        """``target: type = value``."""
        if node.value is not None:
            self.bind_target(node.target, self.evaluate(node.value))

    def augmented_assign(self, node: cst.AugAssign) -> None:
        """``target += value``."""
        old = self.evaluate(node.target)
        added = self.evaluate(node.value)
        word = type(node.operator).__name__.replace("Assign", "")
        if word == "Add" and len(old) == 1 and isinstance(old[0], Sequence):
            old[0].rest = join(old[0].rest, self.elements(added, node))
            self.pick_into(old[0], join(picked_from(added), self.picked_in(node.value)))
            self.record("operate", node, old, result=added, name="extend")
            return
        held = self.as_containers(old, "__ior__") if word == "BitOr" else ()
        if len(held) == 1 and isinstance(held[0], Mapping):
            self.update_mapping(held[0], added)
            self.record("operate", node, held, result=added, name="extend")
            return
        asked = self.ask_operator(word, old, added, node, in_place=True)
        told, others, rest = asked or ((), old, added)
        if asked is None or (others and rest):
            told = join(told, (self.opaque("operation", node, word, (others, rest)),))
            self.record("operate", node, others, result=rest, name=word)
        self.bind_target(node.target, told)

    def assertion(self, node: cst.Assert) -> None:
        """``assert test, message``."""
        test = self.evaluate(node.test)
        if truth(test) is None:
            self.record("test", node.test, test, name="assert")
        if node.msg is not None:
            self.evaluate(node.msg)

    def delete(self, node: cst.Del) -> None:
        """``del base[key]``; names and attributes are kept for what may still read them."""
        targets: list[cst.CSTNode] = [node.target]
        while targets:
            target = targets.pop()
            if isinstance(target, (cst.Tuple, cst.List)):
                targets.extend(element.value for element in target.elements)
            elif isinstance(target, cst.Subscript):
                base = self.evaluate(target.value)
                keys = [
                    self.evaluate(element.slice.value)
                    for element in target.slice
                    if isinstance(element.slice, cst.Index)
                ]
                for value in base:
                    self.ask_object(value, "__delitem__", (join(*keys),), target)
                    if isinstance(value, Sequence) and value.elements:
                        # What is at which place is no longer known.
                        value.rest = join(value.rest, *value.elements)
                        value.elements.clear()
                        self.heap_version += 1
                self.record("delete", target, base, result=join(*keys))
            elif isinstance(target, cst.Attribute):
                for value in self.evaluate(target.value):
                    self.delete_by_class(value, target.attr.value, target)

    def declare_global(self, node: cst.Global) -> None:
        """``global name``."""
        self.activation.scope.globals_declared.update(item.name.value for item in node.names)

    def declare_nonlocal(self, node: cst.Nonlocal) -> None:
        """``nonlocal name``."""
        self.activation.scope.nonlocals_declared.update(item.name.value for item in node.names)


EXITS: dict[type[cst.CSTNode], str] = {
    cst.Return: "return",
    cst.Raise: "raise",
    cst.Break: "break",
    cst.Continue: "continue",
}


SMALL: dict[type[cst.CSTNode], Callable[[Any, Any], None]] = {
    cst.Expr: SmallStatements.expression_statement,
    cst.Assign: SmallStatements.assign,
    cst.AnnAssign: SmallStatements.annotated_assign,
    cst.AugAssign: SmallStatements.augmented_assign,
    cst.Assert: SmallStatements.assertion,
    cst.Del: SmallStatements.delete,
    cst.Global: SmallStatements.declare_global,
    cst.Nonlocal: SmallStatements.declare_nonlocal,
    cst.Import: SmallStatements.import_names,
    cst.ImportFrom: SmallStatements.import_from,
}
