"""What a check of the audit is asked about: a script, run as several processes."""

from __future__ import annotations

from functools import cached_property

import libcst as cst

from transpile.audit.joining import is_without, said_of_jobs
from transpile.audit.vocabulary import Position, Vocabulary
from transpile.facts.events import Event
from transpile.facts.interpreter import Facts
from transpile.facts.state import truth
from transpile.facts.values import Class, Function
from transpile.plan.model import Plan
from transpile.plan.query import Answers
from transpile.records import dataclass


@dataclass(frozen=True, eq=False)
class Process:
    """One process of a job and what it does.

    Args:
        position: which one it is.
        facts: what its run saw; wrapped models are objects of their own there.
        own_wraps: the classes that the project derives from the framework's wraps, and makes, and
            the helpers by whose decorators it shares out calls of methods.
        joins: the functions in which it joins the others.
    """

    position: Position
    facts: Facts
    own_wraps: tuple[Class | Function, ...] = ()
    joins: frozenset[str] = frozenset()

    @cached_property
    def calls(self) -> frozenset[int]:
        """The identities of the nodes of all calls that it makes as one of several."""
        said = said_of_jobs(self.facts, self.joins)
        if not said:
            return self.facts.called
        return frozenset(
            id(event.node) for event in self.facts.calls if not is_without(self.facts, said, event)
        )

    @cached_property
    def events_at(self) -> dict[int, list[Event]]:
        """What happens at each node, by its identity."""
        found: dict[int, list[Event]] = {}
        for event in self.facts.events:
            found.setdefault(id(event.node), []).append(event)
        return found


@dataclass(frozen=True, eq=False)
class Audit:
    """A script to be audited.

    Args:
        plan: what it is made of, run as any process of several.
        vocabulary: what tells processes apart.
        first: the first process of a job on two machines.
        second: another one on the same machine.
        elsewhere: the first on the other machine.
        errors_only: nobody asks for more than errors.
    """

    plan: Plan
    vocabulary: Vocabulary
    first: Process
    second: Process
    elsewhere: Process
    errors_only: bool = False

    @property
    def processes(self) -> tuple[Process, ...]:
        """All of them."""
        return (self.first, self.second, self.elsewhere)

    @property
    def facts(self) -> Facts:
        """What any process does."""
        return self.plan.facts

    @property
    def answered(self) -> Answers:
        """Answers to questions about it, kept with the plan."""
        return self.plan.answered

    def answers(self, test: cst.CSTNode) -> tuple[bool | None, ...]:
        """How each process answers a condition; None where it is not decided by its position."""
        return tuple(truth(process.facts.values_of(test)) for process in self.processes)

    def tells_apart(self, test: cst.CSTNode) -> bool:
        """Whether processes answer a condition differently, or for some it is decided."""
        return len(set(self.answers(test))) > 1

    def makes(self, node: cst.CSTNode) -> tuple[bool, bool, bool]:
        """Whether each process makes the call at a node."""
        first, second, elsewhere = (id(node) in process.calls for process in self.processes)
        return first, second, elsewhere

    def on_all_ways(self, event: Event) -> bool:
        """Whether every process comes to an event, through every call around it.

        Some may come to it by one call, such as that in an arm for the first process, and the rest
        by another one.
        """
        ways = [tuple(map(id, calls_to(event)))]
        if all(self.goes(process, ways) for process in self.processes):
            return True
        same = [one for one in self.facts.events if one.node is event.node and one.kind == "call"]
        ways = [tuple(map(id, calls_to(one))) for one in same]
        if any(all(self.goes(process, [way]) for process in self.processes) for way in ways):
            return False
        return all(self.goes(process, ways) for process in self.processes)

    def goes(self, process: Process, ways: list[tuple[int, ...]]) -> bool:
        """Whether a process makes all calls of one of several ways."""
        return any(all(node in process.calls for node in way) for way in ways)

    def on_all(self, node: cst.CSTNode) -> bool:
        """Whether every process makes the call at a node."""
        return all(self.makes(node))


def calls_to(event: Event) -> list[cst.CSTNode]:
    """The call that an event is, and those of functions around it."""
    around = [frame.node for frame in event.calls() if isinstance(frame.node, cst.Call)]
    return [event.node, *around]
