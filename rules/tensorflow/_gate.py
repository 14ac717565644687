"""Whether a TensorFlow script trains, and where."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.plan.model import Plan
from transpile.rules.tensorflow._other_ways import other_ways
from transpile.rules.tensorflow._sites import fits, loops_by_hand


def trains(plan: Plan) -> bool:
    """Whether Keras trains, or a loop of the script, or what is not converted."""
    if any(not event.detached for event in (*fits(plan), *loops_by_hand(plan))):
        return True
    return any(not event.detached for event, _, _ in other_ways(plan))


def sites(plan: Plan) -> Iterator[tuple[str, Module, cst.CSTNode]]:
    """The places that some rule must claim."""
    for event in fits(plan):
        yield "training by Keras", event.module, event.node
    for event in loops_by_hand(plan):
        yield "update", event.module, event.node
