"""Data sets and collate functions that go on from one sample to the next, in every framework."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.plan.data.in_order.drawn import InOrder, drawn_in_order
from transpile.plan.data.in_order.kept_beside import carried_on, carried_over, kept_beside
from transpile.plan.data.sources import sites
from transpile.plan.model import Plan
from transpile.rule import Ruling

CARRIED = (
    "the training set keeps here what it reads when it is asked for the next sample: in every "
    "process that is another one"
)
OVER = (
    "the collate function keeps here what it makes the next batch of: in every process that is "
    "made of its share of the samples"
)
KEPT = (
    "the training set keeps here what it was asked for, and the script reads that elsewhere: "
    "every process would read that of its own share"
)
FIND = "find it by the index"
COUNT_THERE = "count or keep it in the training loop"


def refusals(plan: Plan, code: str, generator: str = "") -> Iterator[Ruling]:
    """One refusal for each place that goes on from sample to sample.

    Args:
        plan: the plan.
        code: that of the refusals.
        generator: what the framework calls its own generators of random numbers.
    """
    seen: set[int] = set()
    for site in sites(plan):
        for loader in site.loaders:
            for found in drawn_in_order(plan, loader, generator):
                if id(found.node) not in seen:
                    seen.add(id(found.node))
                    yield refusal(found, code)
            for places, why, advice in (
                (carried_on(plan, loader), CARRIED, FIND),
                (carried_over(plan, loader), OVER, COUNT_THERE),
                (kept_beside(plan, loader), KEPT, COUNT_THERE),
            ):
                for module, node in places:
                    if id(node) not in seen:
                        seen.add(id(node))
                        yield Ruling.refuse(code, (module, node), why, advice)


def refusal(found: InOrder, code: str) -> Ruling:
    """What is said of one place."""
    if found.draws:
        why = (
            "the training set draws here from a generator with a seed of its own: every process "
            "would draw the same numbers for its share of the samples"
        )
        advice = "seed the generator by the index of the sample"
    else:
        why = (
            "the training set gives here what comes next, whatever index it is asked for: every "
            "process would begin at the same sample"
        )
        advice = "find the sample by its index"
    return Ruling.refuse(code, found, why, advice)
