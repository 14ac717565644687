"""Which way a test goes, and what it depends on."""

from __future__ import annotations

from transpile.facts.values import Constant

from .domain import (
    Cell,
    Coupled,
    Group,
    Held,
    Known,
    Local,
    Method,
    Number,
    Record,
    Tensor,
    Unknown,
    options,
)
from .state import Running


def decide(run: Running, value: Known) -> tuple[bool | None, str]:
    """Whether a value is true, if that is known, and what else decides it.

    That is ``samples``, ``count``, ``noise``, or nothing where each process decides the same.
    """
    truths: set[bool | None] = set()
    causes: list[str] = []
    for option in options(value):
        truth, cause = decide_one(run, run.settle(option))
        truths.add(truth)
        causes.append(cause)
    known = truths.pop() if len(truths) == 1 else None
    if known is not None:
        return known, ""
    return None, next((cause for cause in ("samples", "noise", "count") if cause in causes), "")


def decide_one(run: Running, value: Known) -> tuple[bool | None, str]:
    """The same for one alternative."""
    if isinstance(value, Constant):
        return bool(value.value), ""
    if isinstance(value, Tensor):
        if not value.whole or value.places:
            return None, "samples"
        return None, "noise" if value.drawn else ""
    if isinstance(value, (Coupled, Unknown)):
        return None, "samples"
    if isinstance(value, Number):
        if value.drawn:
            return None, "noise"
        return None, "count" if value.samples or value.counted else ""
    held = run.held(value)
    if isinstance(held, Group):
        return (True if held.elements else None if held.rest is not None else False), ""
    if isinstance(held, Record):
        return (True if held.entries else None if held.rest is not None else False), ""
    if isinstance(held, (Local, Method, Cell)):
        return True, ""
    if isinstance(held, Held):
        return (True if run.certainly_there(held) else None), ""
    return None, ""
