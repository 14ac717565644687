"""Paths that differ from process to process, though all of them read what one writes there."""

from __future__ import annotations

import libcst as cst

from transpile.facts.events import Event
from transpile.plan.effects.handed_paths import differing
from transpile.plan.effects.readback import ReadBack, find_read_backs, places_of
from transpile.plan.model import Plan
from transpile.records import dataclass
from transpile.rules.pytorch.effects._once import once_of
from transpile.rules.pytorch.effects._vocabulary import VOCABULARY
from transpile.rules.pytorch.randomness._random_draws import Draws


@dataclass(frozen=True, eq=False)
class OwnPaths:
    """The calls by which paths differ.

    Args:
        agreed: by the identity of its node, each call that all processes come to together, once
            they know of each other.
    """

    agreed: dict[int, Event]

    def settle(self, read_back: ReadBack) -> bool:
        """Whether all that makes a path differ is taken from rank 0."""
        nodes = calls_in(read_back)
        return bool(nodes) and all(id(node) in self.agreed for node in nodes)


def own_paths(plan: Plan) -> OwnPaths:
    """The calls by which paths differ that are read back by all processes."""
    once = once_of(plan)
    wanted = {
        id(node): node
        for read_back in find_read_backs(once, VOCABULARY)
        if read_back.differs
        for node in calls_in(read_back)
    }
    if not wanted:
        return OwnPaths({})
    draws = Draws(plan)
    alone = {id(statement) for run in once.runs for statement in run.statements}
    agreed: dict[int, Event] = {}
    others: set[int] = set()
    for event in plan.facts.calls:
        if id(event.node) not in wanted:
            continue
        if (
            event.detached
            or not draws.joined_before(event)
            or once.ranks.some_ranks(event)
            or once.ranks.in_turn(event.stack)
            or any(id(place) in alone for place in places_of(event))
        ):
            others.add(id(event.node))
        agreed[id(event.node)] = event
    return OwnPaths({node: event for node, event in agreed.items() if node not in others})


def calls_in(read_back: ReadBack) -> list[cst.CSTNode]:
    """The calls that make a path another one in each process."""
    found = {id(node): node for _, node in differing(read_back.target)}
    return [node for node in found.values() if isinstance(node, cst.Call)]
