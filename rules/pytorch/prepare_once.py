"""Download and prepare before the other processes look.

What:
    A statement that downloads data or weights, unpacks an archive, or makes a file where it is
    missing goes into a block in which the processes take turns: rank 0 first, then the first
    process of every other node (which finds the outcome on a shared file system, and fetches it
    on a local one), then the rest. The test for the file belongs to the block, be it around the
    statement or an early exit before it, and so does the attempt to read the file.

Why:
    Processes that download into one folder at the same time find each other's half-written files.
    One that comes late must not take such a file for a whole one.

Before:
    train_set = datasets.MNIST("data", train=True, download=True)

After:
    with main_process_first():
        train_set = datasets.MNIST("data", train=True, download=True)

Refuses when:
    never: what happens before the processes know of each other, or where only some of them come,
    is reported.

Source:
    https://github.com/pytorch/pytorch/issues/68320
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.once import prepare_once
from transpile.once.prepare_once import edits
from transpile.plan.model import Plan
from transpile.rule import Answer
from transpile.rules.pytorch._once import once_of

__all__ = ["CODES", "decide", "edits"]

CODES = {
    "PT561": "downloads and preparation are done by one process first",
    "PT562": "something is downloaded or prepared by all processes at the same time",
    "PT563": "preparation draws random numbers in some processes only",
}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each group of statements that prepare something."""
    once_of(plan)
    yield from prepare_once.decide(plan)
