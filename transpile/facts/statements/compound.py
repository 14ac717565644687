"""Execution of statements that hold others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import libcst as cst

from transpile.facts.events import Branch, Loop, Within
from transpile.facts.narrowing import asked_kind, narrowed
from transpile.facts.picking import picked_from
from transpile.facts.state import truth, unknown
from transpile.facts.statements.small import SmallStatements
from transpile.facts.values import (
    Constant,
    Generator,
    Scope,
    Value,
    Values,
    join,
)
from transpile.facts.walk import children

#: Passes over a loop's body: the second sees what the first carried round.
LOOP_PASSES = 3


class Statements(SmallStatements):
    """The part of the interpreter that knows compound statements."""

    def execute_body(self, body: cst.CSTNode) -> bool:
        """Run a suite; whether control may leave it at its end."""
        self.executed.add(id(body))
        if isinstance(body, cst.SimpleStatementSuite):
            return self.execute_small(body.body)
        statements = body.body  # type: ignore[attr-defined]
        for statement in statements:
            if not self.execute(statement):
                return False
        return True

    def execute(self, statement: cst.CSTNode) -> bool:
        """Run one statement; whether control goes on behind it."""
        if isinstance(statement, cst.SimpleStatementLine):
            return self.execute_small(statement.body)
        handler = COMPOUND.get(type(statement))
        if handler is None:
            self.unfollowed.append((self.module, statement, type(statement).__name__))
            return True
        return handler(self, statement)

    def branch(self, node: cst.CSTNode, arm: str, run: Callable[[], bool]) -> bool:
        """Run one arm with a frame that says so."""
        before = self.stack
        self.stack = self.pushed(Branch(node, arm))
        try:
            return run()
        finally:
            self.stack = before

    def if_statement(self, node: cst.If) -> bool:
        """``if`` / ``elif`` / ``else``: both arms, unless the test is known."""
        test = self.evaluate(node.test)
        known = truth(test)
        if known is None:
            self.record("test", node.test, test)
        scope = self.activation.scope
        if known is True:
            self.pass_over(node.orelse)
            return self.execute_body(node.body)
        if known is False:
            self.pass_over(node.body)
            return self.execute_else(node.orelse)
        before = dict(scope.names)
        falls = self.branch(node, "then", lambda: self.execute_body(node.body))
        after_then = scope.names
        scope.names = dict(before)
        falls_else = self.branch(node, "else", lambda: self.execute_else(node.orelse))
        after_else = scope.names
        if falls and falls_else:
            self.narrow(node.test, before, after_then, after_else)
            replace(scope, merge(after_then, after_else))
        elif falls:
            replace(scope, after_then)
        else:
            replace(scope, after_else)
        return falls or falls_else

    def narrow(
        self,
        test: cst.BaseExpression,
        before: dict[str, Values],
        after_then: dict[str, Values],
        after_else: dict[str, Values],
    ) -> None:
        """Let a name whose kind is asked for be the other form of what it was, in either case."""
        asked = asked_kind(test)
        if asked is None:
            return
        name, first = asked
        changed, left = (after_then, after_else) if first else (after_else, after_then)
        old, forms = before.get(name, ()), changed.get(name, ())
        if left.get(name, ()) == old and forms != old:
            left[name] = narrowed(old, forms, self.dialect.forms)

    def pass_over(self, arm: cst.CSTNode | None) -> None:
        """Remember an arm that a known test leaves out: another setting may take it."""
        if arm is not None:
            self.passed_over.append((arm, self.activation.scope))

    def execute_else(self, orelse: Any) -> bool:
        """The ``else`` of a statement, an ``elif``, or nothing."""
        if orelse is None:
            return True
        if isinstance(orelse, cst.If):
            return self.if_statement(orelse)
        return self.execute_body(orelse.body)

    def for_statement(self, node: cst.For) -> bool:
        """``for``: the body runs until nothing new is carried round."""
        iterated = self.evaluate(node.iter)
        self.record("iterate", node, iterated)

        unrolled = self.few_elements(iterated)
        if unrolled is not None:
            return self.unroll(node, unrolled)

        def start() -> None:
            self.bind_target(node.target, self.elements(iterated, node))
            self.note_picked(node.target, picked_from(iterated), iterated)

        return self.loop(node, start)

    def unroll(self, node: cst.For, elements: list[Values]) -> bool:
        """Run a loop's body once for each element, each in a context of its own."""
        context = self.context
        try:
            for position, values in enumerate(elements):
                self.context = (*context, id(node), position)

                def start(values: Values = values) -> None:
                    self.bind_target(node.target, values)

                self.loop(node, start, passes=1, with_else=False)
        finally:
            self.context = context
        if node.orelse is not None:
            self.execute_else(node.orelse)
        return True

    def while_statement(self, node: cst.While) -> bool:
        """``while``: like a loop over nothing; endless where the test is written as a constant."""
        known = truth(self.evaluate(node.test))
        if known is False:
            return self.execute_else(node.orelse)
        if not isinstance(node.test, (cst.Integer, cst.Name)) or (
            isinstance(node.test, cst.Name) and node.test.value != "True"
        ):
            # What holds before the first round need not hold before the others.
            known = None
        if known is None:
            self.record("test", node.test, self.evaluate(node.test), name="while")

        def start() -> None:
            if known is None:
                self.evaluate(node.test)

        return self.loop(node, start, endless=known is True)

    def loop(
        self,
        node: Any,
        start: Callable[[], None],
        endless: bool = False,
        passes: int = LOOP_PASSES,
        with_else: bool = True,
    ) -> bool:
        """Run a loop's body to a fixed point, then its ``else``."""
        scope = self.activation.scope
        entry = dict(scope.names)
        exits: list[dict[str, Values]] = []
        self.activation.loop_exits.append(exits)
        before = self.stack
        self.stack = self.pushed(Loop(node, self.module))
        falls = True
        try:
            for _ in range(passes):
                version = self.heap_version
                carried = dict(scope.names)
                start()
                falls = self.execute_body(node.body)
                after = scope.names if falls else carried
                for exited in exits:
                    after = merge(after, exited)
                merged = merge(carried, after) if passes > 1 else after
                changed = any(
                    name in carried and carried[name] != values for name, values in merged.items()
                )
                replace(scope, merged)
                if not changed and version == self.heap_version:
                    break
        finally:
            self.stack = before
            self.activation.loop_exits.pop()
        if passes > 1:
            replace(scope, merge(entry, scope.names))
        if endless and not exits:
            return False
        if with_else and node.orelse is not None:
            self.execute_else(node.orelse)
        return True

    def try_statement(self, node: Any) -> bool:
        """``try``: the body, every handler from any point of it, ``else`` and ``finally``."""
        scope = self.activation.scope
        before = dict(scope.names)
        falls = self.branch(node, "body", lambda: self.execute_body(node.body))
        after = dict(scope.names)
        outcomes = []
        if falls and node.orelse is not None:
            falls = self.execute_else(node.orelse)
            after = dict(scope.names)
        if falls:
            outcomes.append(after)
        for handler in node.handlers:
            scope.names.clear()
            scope.names.update(merge(before, after))

            def handle(handler: Any = handler) -> bool:
                if handler.type is not None:
                    self.evaluate(handler.type)
                if handler.name is not None:
                    self.bind_target(
                        handler.name.name, (self.opaque("parameter", handler, "exception"),)
                    )
                return self.execute_body(handler.body)

            if self.branch(handler, "except", handle):
                outcomes.append(dict(scope.names))
        merged = outcomes[0] if outcomes else after
        for outcome in outcomes[1:]:
            merged = merge(merged, outcome)
        replace(scope, merged)
        goes_on = bool(outcomes)
        if node.finalbody is not None:
            goes_on = self.execute_body(node.finalbody.body) and goes_on
        return goes_on

    def with_statement(self, node: cst.With) -> bool:
        """``with``: the managers enter, the body runs inside them."""
        managers: list[Values] = []
        for item in node.items:
            values = self.evaluate(item.item)
            managers.append(values)
            if item.asname is not None:
                self.bind_target(item.asname.name, self.entered_values(values, item))
            else:
                self.entered_values(values, item)
        before = self.stack
        self.stack = self.pushed(Within(node, tuple(managers)))
        try:
            return self.execute_body(node.body)
        finally:
            self.stack = before
            for value in (one for values in reversed(managers) for one in values):
                nothing: Values = (Constant(None),)
                self.ask_first(value, ("__exit__", "__aexit__"), (nothing,) * 3, node)

    def entered_values(self, values: Values, node: cst.CSTNode) -> Values:
        """What ``as`` binds: the object itself, unless its class or generator says otherwise."""
        found: list[Value] = []
        for value in values:
            if isinstance(value, Generator):
                found.extend(value.yields)
            else:
                told = self.ask_first(value, ("__enter__", "__aenter__"), (), node)
                found.extend((value,) if told is None else told)
        return join(found)

    def match_statement(self, node: cst.Match) -> bool:
        """``match``: every case may run."""
        subject = self.evaluate(node.subject)
        self.record("test", node.subject, subject)
        scope = self.activation.scope
        before = dict(scope.names)
        merged = dict(before)
        falls = True
        for case in node.cases:
            scope.names.clear()
            scope.names.update(before)
            for name in captured_names(case.pattern):
                self.bind_name(name, captured(case.pattern, name, subject))
            if case.guard is not None:
                self.record("test", case.guard, self.evaluate(case.guard))
            if self.branch(case, "case", lambda case=case: self.execute_body(case.body)):  # type: ignore[misc]
                merged = merge(merged, scope.names)
        replace(scope, merged)
        return falls


def replace(scope: Scope, names: dict[str, Values]) -> None:
    """Give a scope new bindings."""
    scope.names = names


def merge(first: dict[str, Values], second: dict[str, Values]) -> dict[str, Values]:
    """The bindings after either of two ways."""
    merged = dict(first)
    for name, values in second.items():
        old = merged.get(name)
        if old is None:
            merged[name] = values
        elif old is not values and old != values:
            merged[name] = join(old, values)
    return merged


def captured(pattern: cst.CSTNode, name: str, subject: Values) -> Values:
    """What a ``match`` pattern binds a name to, as far as it is the subject itself."""
    if isinstance(pattern, cst.MatchAs) and pattern.name is not None:
        if pattern.name.value == name:
            return subject
    return join(subject, unknown("a name that a pattern binds"))


def captured_names(pattern: cst.CSTNode) -> list[str]:
    """Names that a ``match`` pattern binds."""
    found = []
    if isinstance(pattern, cst.MatchAs) and pattern.name is not None:
        found.append(pattern.name.value)
    for child in children(pattern):
        found.extend(captured_names(child))
    return found


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
