"""Loaders that a call out of the project makes, known only by what the training draws from them.

``train, test = library.get_loaders()``: nothing in the script says that these are loaders. What the
loop around a backward pass draws its batches from is taken for one; whether it is, the run tells.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event, Loop
from transpile.facts.values import (
    Class,
    External,
    Function,
    Opaque,
    Value,
    Values,
)
from transpile.plan.graph import identity, walk_back
from transpile.plan.model import Backward, Loader, Plan
from transpile.plan.query import query

#: Operations whose elements are those of what they are given.
PASSING = frozenset({"iterate", "enumerate", "zip"})


def foreign_loaders(plan: Plan, backward: Backward) -> Iterator[Loader]:
    """The loaders of calls out of the project that a backward pass draws from.

    Args:
        plan: the plan so far.
        backward: a backward pass that no known loader stands behind.
    """
    if not plan.table.foreign_loaders:
        return
    known = {id(loader.value): loader for loader in plan.loaders}
    elements = [
        value
        for value in walk_back(backward.loss, lambda v: not isinstance(v, (Function, Class)))
        if isinstance(value, Opaque) and value.kind == "element"
    ]
    drawn = {id(element.node) for element in elements}
    loops = [frame for frame in backward.event.stack if isinstance(frame, Loop)]
    innermost = next((loop for loop in reversed(loops) if id(loop.node) in drawn), None)
    for element in elements:
        for source in sources(element.operands[0]):
            maker = made_by(plan, source)
            if maker is None or not may_make_loaders(plan, maker):
                continue
            draws = draws_from(plan, source)
            around = set(map(id, maker.module.source.parents(maker.node)))
            if any(id(event.node) in around for event in draws):
                # No variable could hold what is made in the head of the loop.
                continue
            if any(e.node is element.node and may_deliver(e, innermost) for e in draws):
                assert isinstance(source, Opaque)
                loader = known.setdefault(id(source), Loader(source, maker, (), foreign=True))
                if loader not in plan.loaders:
                    loader.iterations.extend(draws)
                    plan.loaders.append(loader)
                yield loader


def take_in_siblings(plan: Plan) -> None:
    """Take what else is drawn from, of the calls that gave foreign training loaders, for loaders.

    Args:
        plan: the plan, its backward passes found.
    """
    ways = {
        way_to(callee)
        for loader in plan.loaders
        if loader.foreign
        for callee in loader.event.callee
    }
    if not ways:
        return
    known = {id(loader.value) for loader in plan.loaders}
    for event in plan.facts.iterations:
        if event.detached:
            continue
        for source in sources(event.callee):
            maker = made_by(plan, source)
            if maker is None or id(source) in known:
                continue
            if ways.isdisjoint(map(way_to, maker.callee)):
                continue
            assert isinstance(source, Opaque)
            known.add(id(source))
            sibling = Loader(source, maker, (), foreign=True)
            sibling.iterations.extend(draws_from(plan, source))
            plan.loaders.append(sibling)


def way_to(callee: Value) -> tuple[str, ...]:
    """What is called: a function, or the method and the calls that give what it belongs to."""
    way: list[str] = []
    seen: set[int] = set()
    while isinstance(callee, Opaque) and id(callee) not in seen:
        seen.add(id(callee))
        behind = callee.callee if callee.kind == "call" else next(iter(callee.operands), ())
        if len(behind) != 1:
            break
        way.append(f"{callee.kind} {callee.name}")
        (callee,) = behind
    return (*way, str(identity(callee)))


def draws_from(plan: Plan, source: Value) -> list[Event]:
    """The events that draw from something."""
    return [
        event
        for event in plan.facts.iterations
        if not event.detached and any(value is source for value in sources(event.callee))
    ]


def may_deliver(event: Event, innermost: Loop | None) -> bool:
    """Whether a loop delivers batches: next to the training, by ``next()``, or in a generator."""
    if event.name in ("iter", "next") or (innermost is not None and event.node is innermost.node):
        return True
    function = event.function()
    return function is not None and function.is_generator


def sources(drawn: Values) -> Iterator[Value]:
    """What may be drawn from, behind ``enumerate`` and the like."""
    pending = list(drawn)
    seen: set[int] = set()
    while pending:
        value = pending.pop(0)
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, Opaque) and value.kind == "operation" and value.name in PASSING:
            pending.extend(inner for group in value.operands for inner in group)
        else:
            yield value


def made_by(plan: Plan, source: Value) -> Event | None:
    """The call that makes what a loop draws from, where that is not analysed."""
    made = source
    while isinstance(made, Opaque) and made.kind in ("item", "attribute"):
        if len(made.operands[0]) != 1:
            return None
        made = made.operands[0][0]
    if not isinstance(made, Opaque) or made.kind != "call" or made.inner:
        return None
    event = makers(plan).get(id(made))
    if event is None or event.detached or not isinstance(event.node, cst.Call):
        return None
    return event


@query
def makers(plan: Plan) -> dict[int, Event]:
    """The calls of the run by the identity of what they make, not of what they hand on."""
    return {
        id(value): event
        for event in plan.facts.calls
        for value in event.result
        if isinstance(value, Opaque) and value.node is event.node
    }


def may_make_loaders(plan: Plan, event: Event) -> bool:
    """Whether a call may give a loader: it is of a library that is not known for other things."""
    return bool(event.callee) and all(of_a_library(plan, callee) for callee in event.callee)


def of_a_library(plan: Plan, callee: Value) -> bool:
    """Whether something called belongs to a library that may give loaders."""
    found = False
    pending, seen = [callee], set[int]()
    while pending:
        value = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, External):
            if f"{value.name}.".startswith(plan.table.no_loaders):
                return False
            found = True
        elif isinstance(value, Opaque) and value.kind == "call":
            pending.extend(value.callee)
        elif isinstance(value, Opaque) and value.operands:
            pending.extend(value.operands[0])
        else:
            return False
    return found
