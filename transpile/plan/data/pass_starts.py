"""Where single batches are drawn: where passes over a training loader begin again."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event, Loop
from transpile.plan.data.sources import is_literal_loop
from transpile.plan.model import Loader, Plan


def restarts(plan: Plan, loader: Loader) -> list[tuple[Loop, Event]]:
    """The calls of ``iter()`` that begin another pass in the loop that draws single batches."""
    starts = [event for event in loader.iterations if starts_pass(plan, loader, event)]
    drawing = {
        id(loop.node)
        for event in loader.iterations
        if not any(event is start for start in starts)
        for loop in innermost(plan, event)
    }
    return [
        (loop, start)
        for start in starts
        for loop in innermost(plan, start)
        if id(loop.node) in drawing and not start.detached
    ]


def starts_pass(plan: Plan, loader: Loader, event: Event) -> bool:
    """Whether an event is ``iter()`` of the loader itself, and not of its iterator."""
    node = event.node
    if not isinstance(node, cst.Call) or len(node.args) != 1:
        return False
    return any(value is loader.value for value in plan.facts.values_of(node.args[0].value))


def innermost(plan: Plan, event: Event) -> Iterator[Loop]:
    """The innermost loop around an event, but for those through a short literal sequence."""
    for loop in reversed(list(event.loops())):
        if not is_literal_loop(plan, loop):
            yield loop
            return


def begins_in(plan: Plan, loader: Loader, loop: Loop) -> bool:
    """Whether ``iter()`` begins a pass in each round, and batches are drawn further in."""
    again = [event for _, event in restarts(plan, loader)]
    return any(
        starts_pass(plan, loader, event)
        and any(around is loop for around in innermost(plan, event))
        and not any(event is restart for restart in again)
        for event in loader.iterations
    )
