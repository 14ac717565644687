"""Refuse random numbers that differ from process to process.

What:
    Whatever the script draws with NumPy or with Python must follow a seed that all processes have.

Why:
    All processes go through the same batches and take their samples of them, and print and decide
    on the same numbers. Another order in one process would train it on samples that others have.

Before:
    np.random.shuffle(idx)

After:
    np.random.seed(0)
    np.random.shuffle(idx)

Refuses when:
    something is drawn before a seed was set, or the seed itself is the time or the like.

Source:
    https://singa.apache.org/docs/dist-train/
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.plan.model import Plan
from transpile.rule import Answer, Ruling
from transpile.rules.singa.data._seeds import unseeded_draws

CODES = {"SG221": "random numbers differ from process to process"}


def decide(plan: Plan) -> Iterator[Answer]:
    """A refusal for each kind of random numbers that no seed settles."""
    for event, why in unseeded_draws(plan):
        yield Ruling.refuse(
            "SG221",
            event,
            f"{why}: the processes would go through other batches",
            "call np.random.seed(0) (and random.seed(0)) first: all processes need one seed",
        )
