"""Keep the records of an experiment once per job.

What:
    A tracker that is only written to (a ``SummaryWriter`` of mxboard) is made by the worker with
    rank 0 alone, and what it records goes under a test for rank 0. Trackers with a switch of their
    own (W&B, Neptune, Comet) are switched off in the other workers, where their calls do nothing.

Why:
    With N workers there would be N runs, or N files of the same records.

Before:
    writer = SummaryWriter("runs")

After:
    writer = SummaryWriter("runs") if is_main_process() else None

Refuses when:
    never: a tracker that is used where no guard fits is made everywhere, and reported.

Source:
    https://github.com/awslabs/mxboard
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.once import track_once
from transpile.once.track_once import edits
from transpile.plan.model import Plan
from transpile.rule import Answer
from transpile.rules.mxnet.effects._once import once_of

__all__ = ["CODES", "decide", "edits"]

CODES = {
    "MX551": "a tracker records once per job",
    "MX552": "a tracker records in every worker",
}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each effect of the script."""
    once_of(plan)
    yield from track_once.decide(plan)
