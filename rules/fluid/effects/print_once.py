"""Print to standard output on trainer 0 alone.

What:
    Every ``print`` becomes a call of a small helper that prints on trainer 0. The arguments are
    still evaluated by every trainer. Prints to standard error stay as they are.

Why:
    Every line would come out once for each trainer and server, mixed with those of the others.

Before:
    print("cost", cost)

After:
    print_once("cost", cost)

Refuses when:
    never: prints of other modules of the project are reported.

Source:
    https://www.paddlepaddle.org.cn/documentation/docs/en/1.8/api/transpiler/DistributeTranspiler.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.once import print_once
from transpile.once.print_once import edits
from transpile.plan.model import Plan
from transpile.rule import Answer
from transpile.rules.fluid.effects._once import once_of

__all__ = ["CODES", "decide", "edits"]

CODES = {
    "FL501": "prints once per job",
    "FL502": "a module of the project prints in every process",
}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each effect of the script."""
    once_of(plan)
    yield from print_once.decide(plan)
