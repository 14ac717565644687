"""Wait for a file that one worker writes before all read it.

What:
    Where every worker reads a file that only the worker with rank 0 has written, all wait for each
    other before.

Why:
    The others would find no file, or half of it.

Before:
    net.load_parameters("best.params")

After:
    wait_for_workers()
    net.load_parameters("best.params")

Refuses when:
    never.

Source:
    https://mxnet.apache.org/versions/1.9.1/api/python/docs/api/kvstore/index.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.once import wait_before_reading
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Ruling, Rulings
from transpile.rules.mxnet.effects._once import once_of
from transpile.rules.mxnet.effects._vocabulary import VOCABULARY

CODES = {
    "MX571": "all workers wait before they read what one worker writes",
    "MX572": "every worker reads from a path that only one of them has",
}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each place where a file is read back."""
    once_of(plan)
    yield from wait_before_reading.decide(plan, VOCABULARY)


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The barrier before the statement."""
    place = (ruling.module, ruling.data.statement)
    yield from wait_before_reading.wait(plan, place, "wait_for_workers")
