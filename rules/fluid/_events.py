"""What an event calls."""

from __future__ import annotations

from collections.abc import Iterable

from transpile.facts.events import Event, Loop
from transpile.facts.values import External, Opaque, Value, Values
from transpile.plan.graph import called_names


def names_of(event: Event) -> set[str]:
    """The names outside the project that an event calls."""
    return {callee.name for callee in event.callee if isinstance(callee, External)}


def receivers_of(event: Event, method: str) -> Values:
    """What a method is called on in an event; empty where another function is called."""
    found: list[Value] = []
    for callee in event.callee:
        if isinstance(callee, Opaque) and callee.kind == "attribute" and callee.name == method:
            found.extend(callee.operands[0])
    return tuple(found)


def calls_method(event: Event, method: str, makers: Iterable[str]) -> bool:
    """Whether an event calls a method of an object that one of `makers` makes."""
    wanted = set(makers)
    return any(wanted.intersection(called_names(value)) for value in receivers_of(event, method))


def loops_around(event: Event) -> list[Loop]:
    """The loops around an event, innermost first."""
    return list(reversed(list(event.loops())))
