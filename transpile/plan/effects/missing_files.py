"""What decides whether a file is made: tests for it, early exits behind them, attempts to read it.

Once one process has made the file, all of these come out differently for the next one.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Branch, Call, Event
from transpile.facts.module import Module
from transpile.facts.walk import children
from transpile.plan.effects.effects import Vocabulary
from transpile.plan.effects.file_reads import event_asks, path_read
from transpile.plan.effects.treatment import Once, Statement, statements_of
from transpile.text.source import Source

SCOPES = (cst.FunctionDef, cst.ClassDef, cst.Lambda)
BLOCKS = (cst.IndentedBlock, cst.SimpleStatementSuite, cst.Module)


class MissingFiles:
    """Finds what decides whether files are made.

    Args:
        once: the effects.
        vocabulary: the framework's own ways to read files.
    """

    def __init__(self, once: Once, vocabulary: Vocabulary) -> None:
        self.reads = once.reads
        self.entry = once.plan.entry
        self.vocabulary = vocabulary

    def decider(
        self, event: Event, only: Module | None = None
    ) -> tuple[Module, cst.CSTNode] | None:
        """Where it is first decided, on the way to an event, whether a file is made.

        Args:
            event: what makes the file.
            only: look in this module alone.

        Returns:
            The module and the test, or the call behind the early exit or failed attempt.
        """
        entered = self.entry
        for frame in event.stack:
            if isinstance(frame, Call):
                if frame.node is not None and only in (None, frame.module):
                    if self.depends(frame.module, frame.node):
                        return frame.module, frame.node
                entered = frame.function.module
            elif only in (None, entered) and self.asks(frame):
                assert isinstance(frame, Branch) and isinstance(frame.node, cst.If)
                return entered, frame.node.test
        if only in (None, event.module) and self.depends(event.module, event.node):
            return event.module, event.node
        return None

    def asks(self, frame: object) -> bool:
        """Whether a frame is an ``if`` that looks for a file."""
        return (
            isinstance(frame, Branch)
            and isinstance(frame.node, cst.If)
            and self.asks_for_file(frame.node.test)
        )

    def asks_for_file(self, test: cst.CSTNode) -> bool:
        """Whether a condition looks for a file, by itself or in a function of the project."""
        return any(
            event_asks(event)
            for call in calls_in(test)
            for events in (self.reads.calls, self.reads.within)
            for event in events.get(id(call), ())
        )

    def depends(self, module: Module, node: cst.CSTNode) -> bool:
        """Whether an early exit or a failed attempt decides, in its function, about a node."""
        if not module.source.has(node):
            return False
        return bool(self.behind_exit(module.source, node)) or self.attempted(module.source, node)

    def behind_exit(self, source: Source, node: cst.CSTNode) -> list[Statement]:
        """The statements from the first early exit to the one with a node; empty without one."""
        found: list[Statement] = []
        for block, inner in blocks_to_scope(source, node):
            statements = statements_of(block)
            end = next(i for i, each in enumerate(statements) if each is inner)
            for start, each in enumerate(statements[:end]):
                if isinstance(each, cst.If) and leaves(each) and self.asks_for_file(each.test):
                    found = statements[start : end + 1]
                    break
        return found

    def attempted(self, source: Source, node: cst.CSTNode) -> bool:
        """Whether a node is in a handler of an attempt to read a file."""
        inner = node
        for outer in source.parents(node):
            if isinstance(outer, SCOPES):
                return False
            if isinstance(outer, cst.Try) and isinstance(inner, cst.ExceptHandler):
                return any(
                    path_read(event, self.vocabulary) is not None and not event_asks(event)
                    for call in calls_in(outer.body)
                    for event in self.reads.calls.get(id(call), ())
                )
            inner = outer
        return False


def blocks_to_scope(source: Source, node: cst.CSTNode) -> Iterator[tuple[cst.CSTNode, cst.CSTNode]]:
    """The blocks around a node within its function, each with its statement that holds the node."""
    inner = node
    for outer in source.parents(node):
        if isinstance(outer, cst.Lambda):
            return
        if isinstance(outer, BLOCKS):
            yield outer, inner
        if isinstance(outer, (cst.FunctionDef, cst.ClassDef)):
            return
        if not isinstance(outer, cst.SimpleStatementLine):
            inner = outer


def leaves(statement: cst.If) -> bool:
    """Whether a branch of an ``if`` ends the function or the round of the loop."""
    last = statements_of(statement.body)[-1]
    return isinstance(last, (cst.Return, cst.Continue))


def calls_in(node: cst.CSTNode) -> Iterator[cst.Call]:
    """The calls in a node, itself included."""
    stack = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, cst.Call):
            yield current
        stack.extend(children(current))
