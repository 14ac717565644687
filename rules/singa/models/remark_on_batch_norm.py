"""Remark on batch norm.

What:
    A warning where a model has batch norm: its statistics are those of one process's samples.

Why:
    SINGA has no batch norm over several processes, so that a step is not that of one process, and
    what a device has learned of the statistics differs from rank to rank.

Before:
    self.bn1 = layer.BatchNorm2d(64)

After:
    self.bn1 = None

Refuses when:
    never.

Source:
    https://singa.apache.org/docs/layer/
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.plan.model import Plan
from transpile.rule import Answer, Remark
from transpile.rules.singa._roles import names_of
from transpile.rules.singa._vocabulary import BATCH_NORMS

CODES = {"SG181": "batch norm takes the statistics of one process's samples"}


def decide(plan: Plan) -> Iterator[Answer]:
    """One warning for all batch norms of a script."""
    for event in plan.facts.reached_calls:
        if BATCH_NORMS.intersection(names_of(event)):
            yield Remark.warn(
                "SG181",
                event,
                "batch norm takes its statistics over the samples of one process, and rank 0 saves "
                "its own: the processes do not train as one does",
                "take a batch of which the share of a process is large enough, or another norm",
            )
            return
