"""Branches of which one starts the processes of a job and the other runs without them."""

from __future__ import annotations

from typing import TypeGuard

import libcst as cst

from transpile.audit.wraps import Wraps
from transpile.facts.state import truth
from transpile.facts.values import External, Function, Values
from transpile.facts.walk import descendants
from transpile.text.source import Source


class Starts(Wraps):
    """The part of a run that knows which arm a job of several processes takes."""

    #: Whether it is in a statement that starts processes, most often in a loop over their numbers.
    in_starting = False
    process_calls: dict[int, list[cst.Name | cst.Attribute]]

    def makes_processes(self, statement: cst.CSTNode) -> bool:
        """Whether a statement makes ``Process`` objects, each of one of several numbers."""
        written = self.written_processes(statement)
        return bool(written) and any(
            isinstance(value, External) and value.name in self.vocabulary.processes
            for function in written
            for value in self.evaluate(function)
        )

    def written_processes(self, statement: cst.CSTNode) -> list[cst.Name | cst.Attribute]:
        """What is called in a statement by the name of a ``Process``."""
        source = self.module.source
        if id(statement) not in around_processes(source) and source.has(statement):
            return []
        if id(statement) not in self.process_calls:
            found = (node for node in descendants(statement) if isinstance(node, cst.Call))
            self.process_calls[id(statement)] = [
                node.func for node in found if is_named_process(node.func)
            ]
        return self.process_calls[id(statement)]

    def starting_arm(self, node: cst.If) -> cst.BaseSuite | None:
        """Of two arms the one that starts the processes; the other is that of a run without."""
        other = node.orelse
        if not isinstance(other, cst.Else) or truth(self.evaluate(node.test)) is not None:
            return None
        for arm, left in ((node.body, other.body), (other.body, node.body)):
            started = {id(value) for value in self.started_in(arm)}
            # Only where the other arm says itself that it runs the first of one: with a number of
            # the launcher's it may be one of a job, too.
            if started and any(self.runs_first(part, started) for part in descendants(left)):
                self.pass_over(left)
                return arm
        return None

    def started_in(self, body: cst.BaseSuite) -> Values:
        """The functions that a block has run in new processes."""
        return tuple(
            value
            for node in descendants(body)
            if isinstance(node, cst.Call) and node.args and self.is_spawn(node.func)
            for value in self.evaluate(node.args[0].value)
            if isinstance(value, Function)
        )

    def is_spawn(self, function: cst.BaseExpression) -> bool:
        """Whether what is called starts the processes of the job."""
        return isinstance(function, (cst.Name, cst.Attribute)) and any(
            isinstance(value, External) and value.name in self.vocabulary.spawns
            for value in self.evaluate(function)
        )

    def runs_first(self, node: cst.CSTNode, started: set[int]) -> bool:
        """Whether one of some functions is called as process 0: ``main_worker(0, args)``."""
        return (
            isinstance(node, cst.Call)
            and bool(node.args)
            and isinstance(node.args[0].value, cst.Integer)
            and any(id(value) in started for value in self.evaluate(node.func))
        )


def is_named_process(node: cst.BaseExpression) -> TypeGuard[cst.Name | cst.Attribute]:
    """Whether an expression is a dotted name that ends in ``Process``."""
    last = node.attr if isinstance(node, cst.Attribute) else node
    return isinstance(last, cst.Name) and last.value == "Process"


def around_processes(source: Source) -> frozenset[int]:
    """The identities of the nodes in which something by the name of a ``Process`` is called."""
    key = (around_processes, 0)
    known: frozenset[int] | None = source.answers.get(key)
    if known is None:
        calls = (node for node in source.nodes_of(cst.Call) if is_named_process(node.func))
        known = frozenset(id(outer) for call in calls for outer in (call, *source.parents(call)))
        source.answers[key] = known
    return known
