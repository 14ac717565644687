"""Refuse data sets that give what comes next, whatever index they are asked for.

What:
    A training set whose ``__getitem__`` or transformation reads on in a file, counts its own
    calls, keeps something for the next sample or for the script, or draws from a generator that
    has a seed of its own, is an error. So is what a ``collate_fn`` keeps of one batch for
    the next; batches may be counted.

Why:
    Each process is asked for other samples, and makes its batches of its share. What depends on
    how many samples came before, or on what they were, is another one in every process.

Before:
    class Lines(Dataset):
        def __getitem__(self, index):
            return encode(self.file.readline())

After:
    class Lines(Dataset):
        def __getitem__(self, index):
            return encode(self.lines[index])

Refuses when:
    what a sample or a batch is depends on those that were made before.

Source:
    https://www.paddlepaddle.org.cn/documentation/docs/en/api/paddle/io/Dataset_en.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.backends.data_in_order import refusals
from transpile.plan.model import Plan
from transpile.rule import Answer

CODES = {"PD229": "a data set gives what comes next, whatever its index"}
#: Where calls are split, every process has whole batches.
WAYS = ("data",)


def decide(plan: Plan) -> Iterator[Answer]:
    """One refusal for each place that goes on from sample to sample."""
    yield from refusals(plan, "PD229")
