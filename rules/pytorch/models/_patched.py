"""Layers and models whose ``forward`` is another function than that of their class."""

from __future__ import annotations

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import Function
from transpile.plan.graph import origin
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.quantity.analysis import Supposing

PATCHED = "the 'forward' of a layer is another function than that of its class"


@query
def supposing(plan: Plan) -> Supposing:
    """The analysis that tells what models are given, before it is known what they do."""
    return Supposing(plan)


@query
def patched_forward(plan: Plan) -> Event | None:
    """Where the script puts another function in the place of a layer's or model's ``forward``."""
    analysis = supposing(plan)
    for event in plan.facts.events:
        if event.kind == "store" and event.name == "forward":
            if any(analysis.is_layer(origin(base)) for base in event.callee):
                return event
    return None


def is_expression(stored: Event) -> bool:
    """Whether what is stored is a function that gives the value of an expression, and no more."""
    return bool(stored.result) and all(
        isinstance(value, Function) and isinstance(value.node, cst.Lambda)
        for value in stored.result
    )
