"""Print to standard output once per job.

What:
    Every ``print`` becomes a call of a small helper that prints on the process with rank 0 alone.
    The arguments are still evaluated in every process, so that a forward pass, a collective or a
    random number among them stays what it was. Prints to standard error stay as they are.

Why:
    With N processes every line would come out N times, mixed with those of the others.

Before:
    print("loss", evaluate(model))

After:
    print_once("loss", evaluate(model))

Refuses when:
    never.

Source:
    https://www.paddlepaddle.org.cn/documentation/docs/en/api/paddle/distributed/get_rank_en.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.once import print_once
from transpile.once.print_once import edits
from transpile.plan.model import Plan
from transpile.rule import Answer
from transpile.rules.paddle._once import once_of

__all__ = ["CODES", "decide", "edits"]

CODES = {
    "PD501": "prints once per job",
}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each effect of the script."""
    once_of(plan)
    yield from print_once.decide(plan)
