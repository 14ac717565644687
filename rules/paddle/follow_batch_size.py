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

import libcst as cst

from transpile.facts.values import Argument, Constant, Opaque
from transpile.layout import wrap_expression
from transpile.plan.batch_size_reads import Use, mentions, shapes
from transpile.plan.batch_size_uses import Maker, uses
from transpile.plan.before_set_up import runs_before_set_up
from transpile.plan.graph import called_names, identity
from transpile.plan.model import Plan
from transpile.plan.sources import depends_on_world_size, given, sites
from transpile.result import Verdict
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.paddle._high_level import fit_argument, high_level
from transpile.rules.paddle.shard_training_data import shared_already

CODES = {
    "PD221": "a shape follows this process's share of the batch",
    "PD224": "the batch size is used for something else, too",
}
#: Where samplers are told the size of a batch.
POSITIONS = {"paddle.io.BatchSampler": 3, "paddle.io.DistributedBatchSampler": 1}
NETWORK = (
    "the network takes the batch size of fit() for a shape, in training, where each process has "
    "its share, and in evaluation"
)
ADVICE = "take the size from the batch itself, as in 'x.shape[0]'"


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each place that follows the batch size of a training loader."""
    if plan.options.batch_size == "per-device":
        return
    seen: set[int] = set()
    for use in all_places(plan):
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
            yield Ruling("PD224", Verdict.REFUSE, use.module, use.node, why, ADVICE)
        else:
            yield Ruling(
                "PD221",
                Verdict.APPLY,
                use.module,
                use.node,
                "this shape follows the batch of one process",
                data=use,
            )


def all_places(plan: Plan) -> Iterator[Use]:
    """What follows the batch size of any training loader, or of the high-level interface."""
    for argument, makers in batch_sizes(plan):
        if not depends_on_world_size(plan, argument.values):
            yield from uses(plan, argument, makers)
    for event in high_level(plan).fits:
        size = fit_argument(event, "batch_size")
        if size is not None and not depends_on_world_size(plan, size.values):
            yield from within_network(plan, size)


def within_network(plan: Plan, size: Argument) -> Iterator[Use]:
    """What the network of the high-level interface shapes by its batch size.

    The same network evaluates, and the text does not say with batches of which size.
    """
    sources = {identity(value) for value in size.values if isinstance(value, (Constant, Opaque))}
    for event in plan.facts.events:
        if event.kind != "call" or not event.detached or not shapes(plan, event.callee):
            continue
        function = event.function()
        if function is None or function.name != "forward" or not isinstance(event.node, cst.Call):
            continue
        for written in event.node.args:
            for node in mentions(plan, written.value, sources):
                yield Use(event.module, node, NETWORK)


def batch_sizes(plan: Plan) -> Iterator[tuple[Argument, list[Maker]]]:
    """The sizes of training batches, each with the calls that take it."""
    for site in sites(plan):
        if shared_already(plan, site):
            continue
        sampler = given(site, "batch_sampler")
        if sampler is None:
            argument = site.loader.argument("batch_size")
            if argument is not None:
                makers = [(loader.event, loader.argument("batch_size")) for loader in site.loaders]
                yield argument, makers
            continue
        for value in sampler.values:
            for name in called_names(value):
                if name in POSITIONS and isinstance(value, Opaque):
                    argument = value.arguments.get("batch_size", POSITIONS[name])
                    if argument is not None:
                        yield argument, [(loader.event, argument) for loader in site.loaders]


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The number divided, in its place."""
    use: Use = ruling.data
    yield Helper("split_batch", use.module)
    split = plan.names_in(use.module).fresh("split_batch")
    for edit in wrap_expression(use.module.source, use.node, f"{split}(", ")"):
        yield In(use.module, edit)
