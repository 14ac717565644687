"""Give every process its part of each batch that the script cuts out of its data.

What:
    Where a script goes through its data by index, without a loader, every process cuts out the
    batch of the script and keeps its part of it. Positions that are drawn at random are those of
    rank 0. The last batch, where it is not full and does not come out even, is shared so that all
    parts are equal: they overlap by a few samples. Where the data is folded into streams of which
    each batch takes the next piece, every process has some of the streams, with their states.
    Batches that each step makes up from random numbers are made up in shares, each process from
    random numbers of its own.

Why:
    Every process would train on every batch: N times the work for the same model.

Before:
    for i in range(0, 64, 32):
        loss = criterion(model(inputs[i : i + 32]), labels[i : i + 32])
        loss.backward()
        optimizer.step()

After:
    for i in range(0, 64, 32):
        loss = criterion(
            model(share_batch(inputs[i : i + 32], 32)), share_batch(labels[i : i + 32], 32)
        )
        loss.backward()
        optimizer.step()

Refuses when:
    the first dimension may count something else than samples, such as time; a state goes from one
    batch on to the next; the data changes while it is trained on; the same code cuts out batches
    for something else, too; the batch size is per device.

Source:
    https://pytorch.org/docs/stable/notes/ddp.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.layout import insert_after, insert_at_start_of_body, wrap_expression
from transpile.plan.flow.places import STATEMENTS
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.pytorch.data._cuts.search import Taking, sharing
from transpile.rules.pytorch.data.divide_batch_size import Share

#: Where calls are sharded, every rank has the whole batch.
WAYS = ("data",)
CODES = {
    "PT225": "each process takes its shard of a batch that is sliced out of the data",
    "PT226": "this shape follows the part of one process",
    "PT219": "every process makes up its share of each batch by itself",
}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each place where training cuts out its batches."""
    seen: set[int] = set()
    for backward in plan.backwards:
        if backward.event.detached or backward.loaders or not backward.cuts:
            continue
        found = sharing(plan, backward)
        if found.why_not:
            continue
        for cut in backward.cuts:
            if cut.fresh and not cut.done and id(cut.node) not in seen:
                seen.add(id(cut.node))
                yield Remark.note(
                    "PT219",
                    cut,
                    "every process makes up its share of each batch from random numbers of its "
                    "own: the samples are like those of one process, not the same",
                )
            if cut.done and id(cut.node) not in seen:
                seen.add(id(cut.node))
                yield Ruling.done("PT225", cut, "every process takes its part of this batch")
        for taking in found.takings:
            if id(taking.node) not in seen:
                seen.add(id(taking.node))
                yield Ruling.apply(
                    "PT225", taking, "every process takes its part of this batch", data=taking
                )
        for module, node in found.sizes:
            if id(node) not in seen:
                seen.add(id(node))
                yield Ruling.apply(
                    "PT226",
                    (module, node),
                    "this shape follows the part of one process",
                    data=Share(module, node),
                )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The batch, or its size, within the helper; names of its parts bound anew."""
    module = ruling.module
    data = ruling.data
    source = module.source
    if isinstance(data, Share):
        yield Helper("split_batch", module)
        name = plan.names_in(module).fresh("split_batch")
        assert isinstance(data.node, cst.BaseExpression)
        for edit in wrap_expression(source, data.node, f"{name}(", ")"):
            yield In(module, edit)
        return
    taking: Taking = data
    helper = "share_batch" if taking.size is not None else "share_each_batch"
    if taking.cut.streams is not None:
        helper = "share_streams"
    yield Helper(helper, module)
    name = plan.names_in(module).fresh(helper)
    if isinstance(taking.node, STATEMENTS):
        parts = ", ".join(f"{name}({target}, {taking.size})" for target in taking.targets)
        line = f"{', '.join(taking.targets)} = {parts}"
        if taking.together:
            target = taking.targets[0]
            line = f"{target} = tuple({name}(part, {taking.size}) for part in {target})"
        if isinstance(taking.node, cst.For):
            changes = insert_at_start_of_body(source, taking.node, [line])
        else:
            changes = insert_after(source, taking.node, [line], order=-5)
        for edit in changes:
            yield In(module, edit)
        return
    assert isinstance(taking.node, cst.BaseExpression)
    after = f", {taking.size})" if taking.size is not None else ")"
    for edit in wrap_expression(source, taking.node, f"{name}(", after, order=-5):
        yield In(module, edit)
