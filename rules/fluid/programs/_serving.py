"""Where parameter servers begin to serve: what the script loads before is what they begin with."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.events import Event, Loop, Within
from transpile.plan.flow.places import Statement, blocks_around, site_at, statement_in
from transpile.plan.graph import called_names
from transpile.plan.model import Plan
from transpile.rules.fluid._events import names_of
from transpile.rules.fluid._questions import LOADS
from transpile.rules.fluid._roles import roles_of
from transpile.rules.fluid.gradients._learning_rate import setters
from transpile.rules.fluid.programs._place import NoPlace, place_of


def loaded(plan: Plan) -> list[Event]:
    """What writes weights into the variables of the training, until the last step of it.

    What a loop does behind a step is done before the next one.
    """
    training = roles_of(plan).training
    if not training:
        return []
    last = max((run.event for run in training), key=lambda event: event.order)
    return sorted(
        (
            event
            for event in (*loads(plan), *setters(plan))
            if event.order < last.order or shares_loop(event, last)
            if not in_own_scope(event)
        ),
        key=lambda event: event.order,
    )


def loads(plan: Plan) -> Iterator[Event]:
    """What reads weights from files."""
    for event in plan.facts.reached_calls:
        if names_of(event) & LOADS:
            yield event


def in_own_scope(event: Event) -> bool:
    """Whether something happens in a scope of variables apart from that of the training."""
    return any(
        isinstance(frame, Within)
        and any("paddle.fluid.scope_guard" in called_names(value) for value in frame.managers)
        for frame in event.stack
    )


def serving_after(plan: Plan) -> Statement | Event | None:
    """The statement behind which servers serve.

    None where nothing is loaded, so that they serve at once; what stands in the way where there is
    no such statement.
    """
    place = place_of(plan)
    written = loaded(plan)
    if isinstance(place, NoPlace) or not written:
        return None
    if plan.options.distributed_embedding:
        return written[0]
    first = min((run.event for run in roles_of(plan).training), key=lambda each: each.order)
    for event in written:
        if not place.startup.event.order < event.order < first.order or shares_loop(event, first):
            return event
    found = parted(plan, written[-1], first)
    started = parted(plan, place.event, first)
    if found is None or started is None:
        return written[-1]
    return found[0]


def shares_loop(event: Event, other: Event) -> bool:
    """Whether two events happen in one loop."""
    loops = {id(frame.node) for frame in other.stack if isinstance(frame, Loop)}
    return any(id(frame.node) in loops for frame in event.stack if isinstance(frame, Loop))


def parted(plan: Plan, before: Event, after: Event) -> tuple[Statement, Statement] | None:
    """The statements of one block of the script in which two events happen."""
    for depth in range(20):
        first, second = site_at(before, depth), site_at(after, depth)
        if first is None or second is None:
            return None
        if first is second:
            continue
        source = plan.entry.source
        if not source.has(first) or not source.has(second):
            return None
        for block in blocks_around(plan.entry, second):
            left = statement_in(plan.entry, block, first)
            right = statement_in(plan.entry, block, second)
            if left is not None and right is not None:
                return (left, right) if left is not right else None
        return None
    return None
