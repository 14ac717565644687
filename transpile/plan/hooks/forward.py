"""Hooks that run with the forward pass of a layer."""

from __future__ import annotations

from transpile.facts.events import Event
from transpile.facts.values import Opaque
from transpile.plan.model import Plan

REASON = (
    "a forward hook sees one process's share of every batch: what it keeps, counts or prints is "
    "not that of the whole batch"
)
ADVICE = "take what is kept from what the model returns, or all-reduce it in the hook"


def forward_hook(plan: Plan, words: frozenset[str]) -> Event | None:
    """The first call that registers such a hook, by the methods that do."""
    for event in plan.facts.calls:
        if event.detached:
            continue
        if any(isinstance(one, Opaque) and one.name in words for one in event.callee):
            return event
    return None
