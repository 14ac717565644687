"""What statements of a model do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import libcst as cst

from transpile.facts.skips import skips_nothing
from transpile.facts.statements.compound import captured_names

from .assignments import Assignments
from .decisions import decide
from .domain import (
    NONE,
    Cell,
    Group,
    Input,
    Known,
    Number,
    Tensor,
    Unknown,
    choice,
    options,
    problem_of,
)
from .shapes import Impossible
from .state import Snapshot

#: Passes over a loop after which what still changes counts as unknown.
MOST_PASSES = 8


class Statements(Assignments):
    """The part of a run that knows statements."""

    def execute_body(self, body: Any) -> bool:
        """Run a suite; whether control may leave it at its end."""
        if isinstance(body, cst.SimpleStatementSuite):
            return self.execute_small(body.body)
        for statement in body.body:
            if isinstance(statement, cst.SimpleStatementLine):
                goes_on = self.execute_small(statement.body)
            else:
                handler = COMPOUND.get(type(statement))
                if handler is None:
                    self.problems.append(
                        Unknown(
                            f"{type(statement).__name__} is not followed", self.module, statement
                        )
                    )
                    continue
                self.sites.append((self.module, statement))
                goes_on = handler(self, statement)
                self.sites.pop()
            if not goes_on:
                return False
        return True

    def execute_small(self, smalls: Any) -> bool:
        """Run the small statements of one line."""
        for small in smalls:
            self.sites.append((self.module, small))
            try:
                if not self.execute_one(small):
                    return False
            finally:
                self.sites.pop()
        return True

    def execute_one(self, small: Any) -> bool:
        """Run one small statement."""
        if isinstance(small, cst.Return):
            value = self.evaluate(small.value) if small.value is not None else NONE
            self.frame.returns.append(value)
            return False
        if isinstance(small, cst.Raise):
            return False
        if isinstance(small, (cst.Break, cst.Continue)):
            kept = self.frame.breaks if isinstance(small, cst.Break) else self.frame.continues
            if kept:
                kept[-1].append(self.snapshot())
            return False
        if isinstance(small, cst.Expr):
            self.evaluate(small.value)
        elif isinstance(small, cst.Assign):
            value = self.evaluate(small.value)
            for target in small.targets:
                self.bind(target.target, value)
        elif isinstance(small, cst.AnnAssign):
            if small.value is not None:
                self.bind(small.target, self.evaluate(small.value))
        elif isinstance(small, cst.AugAssign):
            self.augmented(small)
        elif isinstance(small, (cst.Global, cst.Nonlocal)):
            self.problems.append(
                self.unknown("names outside of the function are written", "layout")
            )
        elif isinstance(small, cst.Assert):
            self.narrow(small.test, True)
        return True

    def augmented(self, node: cst.AugAssign) -> None:
        """``target += value``."""
        old = self.evaluate(node.target)
        added = self.evaluate(node.value)
        word = type(node.operator).__name__.replace("Assign", "")
        if isinstance(old, Cell) and word == "Add":
            self.extend(old, added)
            return
        made = self.operate(word, old, added)
        if any(isinstance(one, (Tensor, Input)) for one in options(old)):
            # Other names may stand for the same tensor.
            problem = problem_of(options(made))
            self.problems.extend([problem] if problem is not None else [])
        self.bind(node.target, made)

    def extend(self, cell: Cell, value: Known) -> None:
        """Add the elements of a value to a list."""
        held = self.held(cell)
        elements, rest = self.elements_of(value)
        if isinstance(held, Group):
            if held.rest is None:
                self.heap[cell] = Group((*held.elements, *elements), rest)
            else:
                more = [rest] if rest is not None else []
                self.heap[cell] = Group((), choice(held.rest, *held.elements, *elements, *more))

    def if_statement(self, node: cst.If) -> bool:
        """``if`` / ``elif`` / ``else``."""
        if skips_nothing(self.module.source, node):
            negated = isinstance(node.test, cst.UnaryOperation)
            return True if negated else self.execute_body(node.body)
        test = self.evaluate(node.test)
        known, cause = decide(self, test)
        if known is not None:
            return self.execute_body(node.body) if known else self.otherwise(node.orelse)
        before = self.snapshot()
        outcomes: list[Snapshot] = []
        returned = len(self.frame.returns)
        exits = self.exits()
        for truth in (True, False):
            self.restore(before)
            self.narrow(node.test, truth)
            try:
                goes_on = self.execute_body(node.body) if truth else self.otherwise(node.orelse)
            except Impossible:
                goes_on = False
            if goes_on:
                outcomes.append(self.snapshot())
        left = len(self.frame.returns) - returned + self.exits() - exits
        if cause and (left or len(outcomes) > 1):
            if not (only_says(node.body) and (node.orelse is None or only_says(node.orelse))):
                self.problems.append(self.branching(test, cause))
        if not outcomes:
            if not left:
                raise Impossible
            return False
        self.restore_either(outcomes)
        return True

    def exits(self) -> int:
        """How often loops were left on the way."""
        kept = (*self.frame.breaks, *self.frame.continues)
        return sum(len(one) for one in kept)

    def otherwise(self, orelse: Any) -> bool:
        """The ``else`` of a statement, an ``elif``, or nothing."""
        if orelse is None:
            return True
        return (
            self.if_statement(orelse)
            if isinstance(orelse, cst.If)
            else self.execute_body(orelse.body)
        )

    def for_statement(self, node: cst.For) -> bool:
        """``for``."""
        iterated = self.evaluate(node.iter)
        elements, rest = self.elements_of(iterated)
        if rest is not None:
            if any(isinstance(one, Number) and one.counted for one in self.deep(rest)):
                reason = "it goes round once for each sample"
                self.problems.append(self.unknown(reason, "layout"))
            self.repeat(node, lambda: self.bind(node.target, choice(*elements, rest)))
            return self.otherwise(node.orelse)
        context = self.context
        exits: list[Snapshot] = []
        goes_on = True
        for place, element in enumerate(elements):
            self.context = (*context, id(node), place)
            self.frame.breaks.append([])
            self.frame.continues.append([])
            self.bind(node.target, element)
            falls = self.execute_body(node.body)
            exits.extend(self.frame.breaks.pop())
            outcomes = self.frame.continues.pop()
            if falls:
                outcomes.append(self.snapshot())
            if not outcomes:
                goes_on = False
                break
            self.restore_either(outcomes)
        self.context = context
        if goes_on and not self.otherwise(node.orelse):
            goes_on = False
        if exits:
            self.restore_either([*exits, self.snapshot()] if goes_on else exits)
            return True
        return goes_on

    def while_statement(self, node: cst.While) -> bool:
        """``while``."""

        def test() -> None:
            value = self.evaluate(node.test)
            _, cause = decide(self, value)
            if cause:
                self.problems.append(self.branching(value, cause))

        self.repeat(node, test)
        return self.otherwise(node.orelse)

    def repeat(self, node: Any, start: Callable[[], None]) -> None:
        """Run a loop's body until nothing new is carried round."""
        context = self.context
        self.context = (*context, id(node))
        merged = self.snapshot()
        exits: list[Snapshot] = []
        for number in range(MOST_PASSES + 1):
            self.restore(merged)
            self.frame.breaks.append([])
            self.frame.continues.append([])
            outcomes = [merged]
            try:
                start()
                if self.execute_body(node.body):
                    outcomes.append(self.snapshot())
            except Impossible:
                if number == 0:
                    self.frame.breaks.pop()
                    self.frame.continues.pop()
                    raise
            exits.extend(self.frame.breaks.pop())
            outcomes.extend(self.frame.continues.pop())
            self.restore_either(outcomes)
            after = self.snapshot()
            if after == merged:
                break
            if number == MOST_PASSES - 1:
                after = self.widened(merged, after)
            merged = after
        self.context = context
        self.restore_either([merged, *exits])

    def widened(self, before: Snapshot, after: Snapshot) -> Snapshot:
        """What still changes, as something unknown."""
        reason = self.unknown("it changes with each pass of a loop", "layout")

        def settled(old: dict[Any, Any], new: dict[Any, Any]) -> dict[Any, Any]:
            return {key: value if old.get(key) == value else reason for key, value in new.items()}

        heap = {
            key: value if before.heap.get(key) == value else Group((), reason)
            for key, value in after.heap.items()
        }
        return Snapshot(
            settled(before.names, after.names), heap, settled(before.stored, after.stored)
        )

    def try_statement(self, node: Any) -> bool:
        """``try``: the body, or any handler from its start or end."""
        before = self.snapshot()
        outcomes: list[Snapshot] = []
        try:
            if self.execute_body(node.body) and self.otherwise(node.orelse):
                outcomes.append(self.snapshot())
        except Impossible:
            pass
        after = self.snapshot()
        for handler in node.handlers:
            self.restore_either([before, after])
            if self.execute_body(handler.body):
                outcomes.append(self.snapshot())
        if outcomes:
            self.restore_either(outcomes)
        goes_on = bool(outcomes)
        if node.finalbody is not None:
            goes_on = self.execute_body(node.finalbody.body) and goes_on
        return goes_on

    def with_statement(self, node: cst.With) -> bool:
        """``with``."""
        for item in node.items:
            value = self.evaluate(item.item)
            if item.asname is not None:
                self.bind(item.asname.name, value)
        return self.execute_body(node.body)

    def match_statement(self, node: cst.Match) -> bool:
        """``match``: every case may run."""
        subject = self.evaluate(node.subject)
        if self.sampled(subject):
            self.problems.append(self.coupled_test())
        before = self.snapshot()
        outcomes = [before]
        for case in node.cases:
            self.restore(before)
            for name in captured_names(case.pattern):
                self.frame.names[name] = self.unknown("a name that a pattern binds", "layout")
            if self.execute_body(case.body):
                outcomes.append(self.snapshot())
        self.restore_either(outcomes)
        return True

    def define_function(self, node: cst.FunctionDef) -> bool:
        """``def`` within the code."""
        self.frame.names[node.name.value] = self.local(node)
        return True

    def define_class(self, node: cst.ClassDef) -> bool:
        """``class`` within the code."""
        self.frame.names[node.name.value] = self.unknown("a class that a function defines")
        return True


#: What only tells somebody something, by the first name.
SAYING = frozenset({"print", "warnings", "logging", "logger", "log"})


def only_says(arm: cst.CSTNode) -> bool:
    """Whether an arm of a branch does nothing but raise, or tell somebody something."""
    body = getattr(arm, "body", None)
    statements = getattr(body, "body", body) or ()
    for statement in statements:
        smalls = statement.body if isinstance(statement, cst.SimpleStatementLine) else (statement,)
        for small in smalls:
            if isinstance(small, (cst.Pass, cst.Raise, cst.Assert)):
                continue
            value = small.value if isinstance(small, cst.Expr) else None
            called = value.func if isinstance(value, cst.Call) else value
            while isinstance(called, cst.Attribute):
                called = called.value
            if isinstance(called, cst.SimpleString):
                continue
            if not isinstance(called, cst.Name) or called.value not in SAYING:
                return False
    return True


COMPOUND: dict[type[cst.CSTNode], Callable[[Any, Any], bool]] = {
    cst.If: Statements.if_statement,
    cst.For: Statements.for_statement,
    cst.While: Statements.while_statement,
    cst.Try: Statements.try_statement,
    cst.TryStar: Statements.try_statement,
    cst.With: Statements.with_statement,
    cst.FunctionDef: Statements.define_function,
    cst.ClassDef: Statements.define_class,
    cst.Match: Statements.match_statement,
}
