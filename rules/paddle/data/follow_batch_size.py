"""Let what the training step makes as large as a batch follow this process's share of it.

What:
    Where the number that a loader takes for its batch size also shapes labels, noise or hidden
    states in the training step, or says where a part of a batch begins, it becomes this process's
    share there, too. With ``--batch-size per-device`` each process has the script's batch, and
    nothing changes.

Why:
    A process's batch holds its share of the samples alone. Labels for all of them do not fit, or
    are stretched over the share without a word.

Before:
    real = paddle.ones([batch_size, 1])

After:
    real = paddle.ones([split_batch(batch_size), 1])

Refuses when:
    the number is used in training and in evaluation, which sees whole batches, as in a network that
    ``paddle.Model`` trains; it is read before the processes join, or may be the batch size or
    something else.

Source:
    https://www.paddlepaddle.org.cn/documentation/docs/en/api/paddle/io/DistributedBatchSampler_en.html
    on the batch size of each process.
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.layout import wrap_expression
from transpile.plan.data.batch_size.reads import Use
from transpile.plan.flow.before_set_up import runs_before_set_up
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.paddle.data._batch_sizes import places

CODES = {
    "PD221": "a shape follows this process's share of the batch",
    "PD224": "the batch size is used for something else, too",
}
#: Where calls are split, every process has whole batches.
WAYS = ("data",)
ADVICE = "take the size from the batch itself, as in 'x.shape[0]'"


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each place that follows the batch size of a training loader."""
    if plan.options.batch_size == "per-device":
        return
    seen: set[int] = set()
    for use in places(plan):
        if id(use.node) in seen:
            continue
        seen.add(id(use.node))
        why = use.obstacle
        if not why and runs_before_set_up(plan, use.module, use.node):
            why = (
                "this takes the size of the batch before the processes join: it cannot become that "
                "of one process's share"
            )
        if why:
            yield Ruling.refuse("PD224", use, why, ADVICE)
        else:
            yield Ruling.apply(
                "PD221", use, "this shape follows the batch of one process", data=use
            )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The number divided, in its place."""
    use: Use = ruling.data
    yield Helper("split_batch", use.module)
    split = plan.names_in(use.module).fresh("split_batch")
    for edit in wrap_expression(use.module.source, use.node, f"{split}(", ")"):
        yield In(use.module, edit)
