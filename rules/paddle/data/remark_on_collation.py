"""Say what the samples of a batch have to do with each other while it is put together.

What:
    A ``collate_fn`` of a training loader that leaves out samples by what they are is an error.
    Samples that it computes from the others of their batch, such as by taking off its mean, are a
    warning.

Why:
    Each process puts together a batch of its own share: of other samples than one process does,
    and of some of them only.

Before:
    def collate(samples):
        samples = [one for one in samples if one is not None]
        return make_batch(samples)

After:
    def collate(samples):
        samples = [blank if one is None else one for one in samples]
        return make_batch(samples)

Refuses when:
    the number of rows depends on the samples.

Source:
    https://www.paddlepaddle.org.cn/documentation/docs/en/api/paddle/io/DataLoader_en.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.backends.collations import leaving_out, mixing
from transpile.plan.model import Plan
from transpile.quantity.asking import analysis
from transpile.rule import Answer

CODES = {
    "PD220": "samples are left out while a batch is put together",
    "PD236": "samples are computed from others while a batch is put together",
}
#: Where calls are split, every process has whole batches.
WAYS = ("data",)


def decide(plan: Plan) -> Iterator[Answer]:
    """A refusal or warning for each place that makes samples depend on each other."""
    yield from leaving_out(plan, "PD220")
    yield from mixing(plan, "PD236", analysis(plan))
