"""Record in trackers on trainer 0 alone.

What:
    A tracker is made by trainer 0 alone, and what is recorded in it goes under a test for that; one
    that can be switched off is switched off in the other trainers.

Why:
    Every trainer would start a run of its own.

Before:
    writer = LogWriter("runs")

After:
    writer = LogWriter("runs") if is_main_process() else None

Refuses when:
    never: trackers that cannot be switched off are reported.

Source:
    https://github.com/PaddlePaddle/VisualDL
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.once import track_once
from transpile.once.track_once import edits
from transpile.plan.model import Plan
from transpile.rule import Answer
from transpile.rules.fluid.effects._once import once_of

__all__ = ["CODES", "decide", "edits"]

CODES = {
    "FL551": "a tracker records once per job",
    "FL552": "a tracker records in every process",
}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each effect of the script."""
    once_of(plan)
    yield from track_once.decide(plan)
