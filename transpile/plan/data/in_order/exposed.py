"""What the drawing of a sample reads of what was there before it."""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from transpile.facts.values import BoundMethod, Function
from transpile.facts.walk import children
from transpile.plan.data.in_order.kept_places import Place, Places
from transpile.plan.data.in_order.writes import WHOLE, is_whole

Written = frozenset[Place]
#: Statements behind which nothing of a block runs.
LEAVING = (cst.Return, cst.Raise, cst.Continue, cst.Break)
MOST_CALLS = 400


class Exposed:
    """The reads that may come ahead of any write of the same call.

    Args:
        places: the places of the code.
        roots: the functions that are called from outside.
    """

    def __init__(self, places: Places, roots: Iterable[Function]) -> None:
        self.places = places
        self.open: set[int] = set()
        self.covered: set[int] = set()
        self.walked: dict[tuple[int, Written], Written] = {}
        for function in roots:
            self.function(function, frozenset())

    def has(self, node: cst.CSTNode) -> bool:
        """Whether a node may read what was there before."""
        return id(node) in self.open or id(node) not in self.covered

    def function(self, function: Function, written: Written) -> Written:
        """Walk the body of a function; what is written behind it."""
        key = (id(function.node), written)
        if key in self.walked or len(self.walked) > MOST_CALLS:
            return self.walked.get(key, written)
        self.walked[key] = written
        if isinstance(function.node, cst.Lambda):
            found: Written | None = self.expression(function, function.node.body, written)
        else:
            found = self.block(function, function.node.body, written)
        if found is not None:
            self.walked[key] = found
        return self.walked[key]

    def block(self, function: Function, node: cst.CSTNode, written: Written) -> Written | None:
        """Walk the statements of a block; None where nothing comes behind it."""
        for statement in getattr(node, "body", ()):
            found = self.statement(function, statement, written)
            if found is None:
                return None
            written = found
        return written

    def statement(self, function: Function, node: cst.CSTNode, written: Written) -> Written | None:
        """Walk one statement."""
        if isinstance(node, cst.SimpleStatementLine):
            return self.block(function, node, written)
        if isinstance(node, cst.If):
            written = self.expression(function, node.test, written)
            then = self.block(function, node.body, written)
            other: Written | None = written
            if isinstance(node.orelse, cst.If):
                other = self.statement(function, node.orelse, written)
            elif node.orelse is not None:
                other = self.block(function, node.orelse.body, written)
            return both(then, other)
        if isinstance(node, (cst.For, cst.While)):
            head = node.iter if isinstance(node, cst.For) else node.test
            written = self.expression(function, head, written)
            self.block(function, node.body, written)
            if node.orelse is not None:
                self.block(function, node.orelse.body, written)
            return written
        if isinstance(node, cst.Try):
            found = self.block(function, node.body, written)
            for handler in node.handlers:
                found = both(found, self.block(function, handler.body, written))
            if node.orelse is not None and found is not None:
                found = self.block(function, node.orelse.body, found)
            if node.finalbody is not None:
                self.block(function, node.finalbody.body, written)
            return found
        if isinstance(node, cst.With):
            for item in node.items:
                written = self.expression(function, item.item, written)
            return self.block(function, node.body, written)
        if isinstance(node, (cst.FunctionDef, cst.ClassDef)):
            return written
        return self.simple(function, node, written)

    def simple(self, function: Function, node: cst.CSTNode, written: Written) -> Written | None:
        """Walk a statement without statements in it."""
        targets: list[cst.BaseExpression] = []
        if isinstance(node, cst.Assign):
            written = self.expression(function, node.value, written)
            targets = [target.target for target in node.targets]
        elif isinstance(node, cst.AnnAssign) and node.value is not None:
            written = self.expression(function, node.value, written)
            targets = [node.target]
        else:
            written = self.expression(function, node, written)
        while targets:
            target = targets.pop()
            if isinstance(target, (cst.Tuple, cst.List)):
                targets.extend(element.value for element in target.elements)
                continue
            if isinstance(target, cst.Subscript):
                for element in target.slice:
                    written = self.expression(function, element, written)
                if is_whole(target):
                    target = target.value
            kept = self.places.written(function, target)
            if kept is not None:
                written |= {kept}
        return None if isinstance(node, LEAVING) else written

    def expression(self, function: Function, node: cst.CSTNode, written: Written) -> Written:
        """Walk an expression in the order in which it is worked out, nearly."""
        if isinstance(node, cst.Lambda):
            return written
        for child in children(node):
            written = self.expression(function, child, written)
        if isinstance(node, (cst.Name, cst.Attribute)):
            kept = self.places.of(function, node)
            covered = kept is not None and any(kept.place.meets(one) for one in written)
            (self.covered if covered else self.open).add(id(node))
        elif isinstance(node, cst.Call):
            if isinstance(node.func, cst.Attribute) and node.func.attr.value in WHOLE:
                kept = self.places.of(function, node.func.value)
                if kept is not None and not kept.keys:
                    written |= {kept.place}
            behind: Written | None = None
            for value in self.places.plan.facts.values_of(node.func):
                inner = value.function if isinstance(value, BoundMethod) else value
                if isinstance(inner, Function):
                    behind = both(behind, self.function(inner, written))
            written = written if behind is None else behind
        return written


def both(one: Written | None, other: Written | None) -> Written | None:
    """What is written whichever of two ways was taken."""
    if one is None or other is None:
        return one if other is None else other
    return one & other
