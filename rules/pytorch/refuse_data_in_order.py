"""Refuse data sets that give what comes next, whatever index they are asked for.

What:
    A training set whose ``__getitem__`` reads on in a file, takes the next of an iterator or
    queue, counts its own calls, or draws from a generator of random numbers that has a seed of its
    own, is an error.

Why:
    A ``DistributedSampler`` gives each process indices of its own. A data set that does not go by
    them, or that draws the same random numbers in every process, gives all processes the same
    samples, or the same distortions.

Before:
    class Lines(Dataset):
        def __getitem__(self, index):
            return encode(self.file.readline())

After:
    class Lines(Dataset):
        def __getitem__(self, index):
            return encode(self.lines[index])

Refuses when:
    what a sample is depends on how many were drawn before.

Source:
    https://pytorch.org/docs/stable/data.html#map-style-datasets
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.plan.model import Plan
from transpile.plan.sources import sites
from transpile.result import Verdict
from transpile.rule import Answer, Ruling
from transpile.rules.pytorch._drawn_in_order import InOrder, drawn_in_order

CODES = {"PT229": "a data set gives what comes next, whatever its index"}
#: Where calls are shared out, every rank draws the same batches from the same data.
WAYS = ("data",)


def decide(plan: Plan) -> Iterator[Answer]:
    """One refusal for each place that goes on from sample to sample."""
    seen: set[int] = set()
    for site in sites(plan):
        for loader in site.loaders:
            for found in drawn_in_order(plan, loader):
                if id(found.node) not in seen:
                    seen.add(id(found.node))
                    yield refusal(found)


def refusal(found: InOrder) -> Ruling:
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
    return Ruling("PT229", Verdict.REFUSE, found.module, found.node, why, advice)
