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
    https://singa.apache.org/docs/dist-train/
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.once import print_once
from transpile.once.print_once import edits
from transpile.plan.model import Plan
from transpile.records import replace
from transpile.result import Verdict
from transpile.rule import Answer, Ruling
from transpile.rules.singa.effects._once import once_of
from transpile.rules.singa.processes._own_path import asks_for_rank

__all__ = ["CODES", "decide", "edits"]

CODES = {
    "SG501": "prints once per job",
}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each effect of the script."""
    once_of(plan)
    for answer in print_once.decide(plan):
        if isinstance(answer, Ruling) and asks_for_rank(plan, answer.module, answer.node):
            answer = replace(answer, verdict=Verdict.ALREADY_DONE)
        yield answer
