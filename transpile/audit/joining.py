"""What of the settings is known of a job: what asks for the joining of its processes is true."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Branch, Event
from transpile.facts.interpreter import Facts
from transpile.facts.values import Opaque

#: A value by its identity, and whether it is true.
Said = tuple[int, bool]


def said_of_jobs(facts: Facts, joins: frozenset[str]) -> frozenset[Said]:
    """What holds wherever processes are joined: ``if args.distributed: init_process_group()``."""
    held = [frozenset(said_at(facts, event)) for event in facts.calls_to(*joins)]
    return frozenset.intersection(*held) if held else frozenset()


def is_without(facts: Facts, said: frozenset[Said], event: Event) -> bool:
    """Whether an event happens only where the processes are not joined."""
    return bool(said) and any((value, not true) in said for value, true in said_at(facts, event))


def said_at(facts: Facts, event: Event) -> Iterator[Said]:
    """What the conditions around an event say of settings."""
    for frame in event.stack:
        if isinstance(frame, Branch) and isinstance(frame.node, (cst.If, cst.IfExp)):
            yield from said_by(facts, frame.node.test, frame.arm == "then")


def said_by(facts: Facts, test: cst.BaseExpression, true: bool) -> Iterator[Said]:
    """What an answer to a condition says of the settings that it asks for."""
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        yield from said_by(facts, test.expression, not true)
    elif isinstance(test, cst.BooleanOperation):
        if isinstance(test.operator, cst.And) is true:
            yield from said_by(facts, test.left, true)
            yield from said_by(facts, test.right, true)
    elif isinstance(test, (cst.Name, cst.Attribute)):
        values = facts.values_of(test)
        if len(values) == 1 and isinstance(values[0], Opaque):
            yield id(values[0]), true
