"""The events of a run by kind."""

from __future__ import annotations

import pytest

from transpile.facts.events import Event
from transpile.facts.interpreter import Facts

NODES = [object() for _ in range(2)]


def event(node: object, order: int, kind: str = "call", detached: bool = False) -> Event:
    """An event at a place."""
    made = Event.__new__(Event)
    made.kind, made.node, made.order, made.detached = kind, node, order, detached  # type: ignore[assignment]
    return made


@pytest.fixture
def facts() -> Facts:
    """Two places that are come to in turn: a, b, b, a; one of the events is detached."""
    found = Facts.__new__(Facts)
    a, b = NODES
    events = [event(a, 0, detached=True), event(a, 1), event(b, 2), event(b, 3), event(a, 4)]
    object.__setattr__(found, "events", (*events, event(a, 5, "store")))
    return found


def test_places_come_once_in_the_order_in_which_they_are_come_to(facts: Facts) -> None:
    assert [one.order for one in facts.places_called] == [1, 2]


def test_events_of_a_kind_keep_their_order(facts: Facts) -> None:
    assert [one.order for one in facts.calls] == [0, 1, 2, 3, 4]
    assert [one.order for one in facts.reached_calls] == [1, 2, 3, 4]
    assert [one.order for one in facts.stores] == [5]
