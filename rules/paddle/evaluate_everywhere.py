"""Let every process evaluate everything, so that the numbers stay those of the whole data set.

What:
    Loaders that no backward pass depends on keep their data and their batch size: every process
    goes through all of it and comes to the same numbers. With ``--eval shard``, which is not done
    for Paddle, this is said.

Why:
    A ``DistributedBatchSampler`` pads, so that some samples count twice; ``drop_last`` leaves some
    out. Accuracy and loss would no longer be those of the data set.

Before:
    for x, y in test_loader:
        correct += (model(x).argmax(1) == y).sum().item()

After:
    for x, y in test_loader:
        correct += (model(x).argmax(1) == y).sum().item()

Refuses when:
    never.

Source:
    https://www.paddlepaddle.org.cn/documentation/docs/en/api/paddle/io/DistributedBatchSampler_en.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.finding import Level
from transpile.plan.model import Plan
from transpile.rule import Answer, Remark

CODES = {"PD611": "evaluation is not shared out over the processes"}


def decide(plan: Plan) -> Iterator[Answer]:
    """A word for each evaluation loader, where sharing it out was asked for."""
    if plan.options.evaluation != "shard":
        return
    seen: set[int] = set()
    for loader in plan.loaders:
        if loader.training or not loader.iterations or id(loader.node) in seen:
            continue
        seen.add(id(loader.node))
        yield Remark(
            "PD611",
            Level.WARNING,
            loader.event.module,
            loader.node,
            "every process evaluates all of this loader: evaluation is not shared out for Paddle",
            "nothing is wrong: the numbers are those of the whole data set",
        )
