"""Where all processes can draw together what is meant for a whole batch."""

from __future__ import annotations

import libcst as cst

from transpile.facts.events import Branch, Event, Loop
from transpile.facts.module import Module
from transpile.facts.walk import descendants
from transpile.plan.flow.places import Statement, ancestors
from transpile.plan.model import Plan
from transpile.records import dataclass, field
from transpile.rules.pytorch.agreement._divergence import ON_DISK
from transpile.rules.pytorch.randomness._common_draws import CommonDraw, is_of_samples
from transpile.rules.pytorch.randomness._drawn_data import Places, levels, source_of
from transpile.rules.pytorch.randomness._random_draws import Draws
from transpile.rules.pytorch.randomness._sent_draws import is_sendable


@dataclass(eq=False)
class Together:
    """Draws of one place, and how all processes make them alike.

    Args:
        draws: the draws.
        module: where it is.
        statement: the statement that all run with one random state; None where none can be.
        node: the expression whose value is sent instead.
        because: why neither can be, as the end of a sentence.
    """

    draws: list[CommonDraw]
    module: Module
    statement: Statement | None = None
    node: cst.BaseExpression | None = None
    because: str = ""


def placed(plan: Plan, found: list[CommonDraw]) -> list[Together]:
    """The places of some draws, each once."""
    if not found:
        return []
    finder = Finder(plan, found)
    groups: dict[int, Together] = {}
    for draw in found:
        if id(draw.event.node) in finder.done:
            continue
        finder.done.add(id(draw.event.node))
        place = finder.place(draw)
        key = id(place.statement or draw.event.node)
        if key in groups:
            groups[key].draws.append(draw)
        else:
            groups[key] = place
    return [finder.smallest(place) for place in groups.values()]


@dataclass(eq=False)
class Finder:
    """Finds the places of draws."""

    plan: Plan
    found: list[CommonDraw]
    done: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        plan = self.plan
        self.common = {id(draw.event) for draw in self.found}
        noise = tuple(
            event
            for event in plan.facts.reached_calls
            if id(event) not in self.common
            and source_of(plan, event)
            and is_of_samples(plan, event)
        )
        self.places = Places(plan, Draws(plan).varied, apart=noise)
        # They are equal once this is done.
        values = self.places.divergence.values
        equal = {id(value) for draw in self.found for value in draw.event.result}
        values.equal = values.equal | equal
        self.at: dict[int, list[Event]] = {}
        for event in plan.facts.reached_calls:
            self.at.setdefault(id(event.node), []).append(event)

    def place(self, draw: CommonDraw) -> Together:
        """Where one draw is made by all processes alike."""
        event = draw.event
        around = self.places.around(event)
        if draw.source != "own" and around.statement is not None:
            if self.only_draws(around.statement, event):
                return Together([draw], around.module, around.statement)
        sent = self.sent(draw)
        if sent is not None:
            return Together([draw], event.module, node=sent)
        return Together([draw], event.module, because=around.because)

    def only_draws(self, statement: Statement, event: Event) -> bool:
        """Whether a statement is come to for such draws alone."""
        inside = {id(part) for part in descendants(statement)}
        return all(
            id(other) in self.common
            for other in self.at[id(event.node)]
            if any(id(node) in inside for _, node in levels(other))
        )

    def sent(self, draw: CommonDraw) -> cst.BaseExpression | None:
        """The expression whose value rank 0 can send; None where it cannot, or not all come."""
        event = draw.event
        if not isinstance(event.node, cst.Call) or not is_sendable(event):
            return None
        contexts = self.at[id(event.node)]
        if any(id(other) not in self.common or self.is_uncertain(other) for other in contexts):
            return None
        return event.node

    def is_uncertain(self, event: Event) -> bool:
        """Whether only some of the processes may come to a draw."""
        for frame in event.stack:
            test: cst.BaseExpression | None = None
            if isinstance(frame, Loop) and isinstance(frame.node, cst.While):
                test = frame.node.test
            elif isinstance(frame, Branch) and isinstance(frame.node, (cst.If, cst.IfExp)):
                test = frame.node.test
            elif isinstance(frame, Branch) and isinstance(frame.node, cst.BooleanOperation):
                test = frame.node.left
            if test is None:
                continue
            owner = self.places.owner(event, test) or event.module
            cause = self.places.divergence.cause(owner, test)
            if cause is not None and cause not in ON_DISK:
                return True
        return False

    def smallest(self, place: Together) -> Together:
        """The draw itself in place of its statement, where it is all that the statement draws."""
        if place.statement is None or len(place.draws) > 1:
            return place
        draw = place.draws[0]
        node = self.sent(draw)
        if node is None or draw.source == "own":
            return place
        inside = {id(part) for part in descendants(place.statement)}
        repeated = any(
            isinstance(frame, (Loop, Branch)) and id(frame.node) in inside
            for frame in draw.event.stack
        )
        if repeated or not any(part is place.statement for part in ancestors(place.module, node)):
            return place
        drawing = [
            event
            for events in self.at.values()
            for event in events[:1]
            if id(event.node) in inside and source_of(self.plan, event)
        ]
        if len(drawing) > 1:
            return place
        return Together(place.draws, place.module, node=node)
