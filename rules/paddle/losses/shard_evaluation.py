"""Share evaluation out over the processes, to the same numbers to the last sample.

What:
    Loaders that no backward pass depends on keep their data and their batch size: every process
    goes through all of it and comes to the same numbers. With ``--eval shard`` each process takes
    a block of whole batches of an evaluation loop, no sample twice and none left out. What the
    loop adds up, counts or collects is put together right after it, in the order of the data,
    before anything looks at it. Models are called without their wrap. Where it cannot be seen that
    the numbers stay the same, every process goes through everything, and a warning says why.

Why:
    A ``DistributedBatchSampler`` pads, so that some samples count twice; ``drop_last`` leaves some
    out. Whole batches keep what is averaged per batch. In a loop of which processes take different
    numbers of rounds, any collective would hang.

Before:
    model.eval()
    correct = 0
    for x, y in test_loader:
        correct += (model(x).argmax(1) == y).sum().item()

After:
    model.eval()
    correct = 0
    for x, y in own_batches(test_loader):
        correct += (unwrap(model)(x).argmax(1) == y).sum().item()
    (correct,) = sum_totals(correct)

Refuses when:
    never: what cannot be sharded is done by every process.

Source:
    https://www.paddlepaddle.org.cn/documentation/docs/en/api/paddle/io/DistributedBatchSampler_en.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.evaluation import Done, Shared, Whole
from transpile.evaluation.written import shared_out
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Remark, Ruling, Rulings
from transpile.rules.paddle.effects._once import VOCABULARY
from transpile.rules.paddle.losses._evaluation import evaluations

CODES = {
    "PD611": "evaluation is not sharded over the processes",
    "PD612": "each process evaluates its share of the batches",
}
#: Where calls are split, every process has whole batches.
WAYS = ("data",)
#: Every process evaluates everything: the numbers are right.
SURE = ("PD611",)


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each evaluation loop, where sharing it out was asked for."""
    if plan.options.evaluation != "shard":
        return
    for found in evaluations(plan, VOCABULARY):
        if isinstance(found, Whole):
            yield Remark.warn(
                "PD611",
                found,
                f"every process evaluates all of this: {found.reason} (line {found.line})",
                "nothing is wrong: the numbers are those of the whole data set",
            )
        elif isinstance(found, Done):
            yield Ruling.done("PD612", found, "each process takes its own batches")
        else:
            yield Ruling.apply(
                "PD612",
                (found.module, found.loop),
                "each process takes a block of its batches, and the totals are put together",
                data=found,
            )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """Own batches in the head, the model itself in the body, the totals behind the loop."""
    data: Shared = ruling.data
    yield from shared_out(plan, data)
