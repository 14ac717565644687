"""Why a value may differ between processes."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

import libcst as cst

from transpile.facts.events import Loop
from transpile.facts.module import Module
from transpile.plan.model import Plan
from transpile.records import dataclass, field


class Cause(Enum):
    """Why a value may differ between processes, the worst first."""

    BATCH = "this process's own part of the batch"
    RESULTS = "what the model computes"
    NORM = "a sum or norm, whose last digits each process adds up for itself"
    TIME = "the clock"
    SIGNAL = "a signal that this process gets"
    MACHINE = "this process or its machine"
    RANDOM = "this process's random numbers"
    FILES = "files that are written meanwhile"
    PRESENCE = "files that this machine has or lacks"


ON_DISK = frozenset({Cause.FILES, Cause.PRESENCE})


Place = tuple[Module, cst.CSTNode]


@dataclass(eq=False)
class Look:
    """What one expression tells by itself.

    Args:
        causes: why what it is computed from may differ.
        tests: the conditions on which it was set, with their modules.
    """

    causes: set[Cause] = field(default_factory=set)
    tests: list[Place] = field(default_factory=list)

    def add(self, other: Look) -> None:
        """Take in what a part of the expression tells."""
        self.causes |= other.causes
        self.tests.extend(other.tests)


def worst(causes: Iterator[Cause | None] | list[Cause | None] | set[Cause]) -> Cause | None:
    """The first cause in the order of the enumeration."""
    found = {cause for cause in causes if cause is not None}
    return next((cause for cause in Cause if cause in found), None)


def loop_position(plan: Plan, loop: Loop | None) -> int:
    """The position of the first event inside a loop."""
    nowhere = len(plan.facts.events)
    return nowhere if loop is None else plan.facts.first_within.get(id(loop.node), nowhere)
