"""Report numbers of the global batch, not of one process's share.

What:
    What the script prints, logs, keeps, compares or schedules on from training batches is taken
    over all processes where it leaves the tensors: means become the mean, sums the sum over the
    processes, and numbers of samples are multiplied by the number of processes. Where a sum is
    only ever divided by a count, the average of both is enough. Arithmetic above these places
    needs no change. What is only added up, or put into a list or a meter, stays each process's own
    until it is read: it is taken over all processes behind the loop, or every so many steps,
    several in one call. What is printed is reduced in a statement of its own, so that the print can
    be moved or removed.

Why:
    Each process sees its share of each batch only. The loss that rank 0 prints would be that of a
    part of the data, a count too small, and decisions would differ between the processes.

Before:
    total_loss = 0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total_loss += loss.item()
    print(total_loss, loss.item())

After:
    total_loss = 0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total_loss += loss.item()
    [total_loss] = average_numbers(total_loss)
    loss_mean = reduce_mean(loss)
    print(total_loss, loss_mean.item())

Refuses when:
    never: numbers that cannot be told are reported, and stay those of one process.

Source:
    https://pytorch.org/docs/stable/distributed.html#torch.distributed.all_reduce
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.layout import replace_expression
from transpile.plan.model import Plan
from transpile.result import Verdict
from transpile.rule import Answer, Helper, In, Remark, Ruling, Rulings
from transpile.rule import Change as Edited
from transpile.rules.pytorch.effects._vocabulary import VOCABULARY
from transpile.rules.pytorch.losses._multiples import (
    multiplied,
    needs_parentheses,
    reduced,
    surrounded,
    world_size,
)
from transpile.rules.pytorch.losses._postponed import ahead, averaged_already, postponed
from transpile.rules.pytorch.losses._reduced_together import own_statement, reduced_where_read
from transpile.rules.pytorch.losses._reductions import settled
from transpile.rules.pytorch.losses._reported import Change, Leaf, reported

#: Where calls are sharded, every rank has the whole batch.
WAYS = ("data",)
#: What leaves no doubt about what is trained.
SURE = ("PT604",)
CODES = {
    "PT601": "a number is reported over the global batch",
    "PT602": "a number of samples is that of all processes",
    "PT603": "a number is that of one process's share of the batch",
    "PT604": "samples of one process's share of the batch are shown",
}
REASONS = {
    Change.MEAN: "this mean is taken over all processes",
    Change.SUM: "this sum is taken over all processes",
    Change.COUNT: "this number of samples is that of all processes",
    Change.DENOMINATOR: "this denominator is averaged over all processes",
    Change.SHARED_SUM: "this sum is taken over the processes that share the batch",
    Change.SHARED_COUNT: "this number of samples is that of all processes that share the batch",
}
COUNTS = frozenset({Change.COUNT, Change.SHARED_COUNT})


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each place where a number leaves the batch."""
    found = reported(plan, VOCABULARY)
    for part in found.done.values():
        yield Ruling.done(
            "PT601",
            (
                part.module if part.node is not None else part.event.module,
                part.node or part.event.node,
            ),
            "it is taken over all processes",
        )
    for leaf in found.leaves.values():
        if averaged_already(plan, leaf):
            reason = "what it is given to is averaged over all processes"
            yield Ruling.done("PT601", leaf, reason)
            continue
        yield Ruling.apply(
            "PT602" if leaf.change in COUNTS else "PT601", leaf, REASONS[leaf.change], data=leaf
        )
    said: set[tuple[str, int, str]] = set()
    for doubt in found.doubts.values():
        source = doubt.module.source
        line, _ = source.position(source.span(doubt.node).start)
        if (doubt.module.name, line, doubt.reason) in said:
            continue
        said.add((doubt.module.name, line, doubt.reason))
        if doubt.samples:
            yield Remark.note(
                "PT604",
                doubt,
                f"{doubt.reason}",
                "gather them from all processes if all are wanted",
            )
        else:
            yield Remark.warn(
                "PT603",
                doubt,
                f"what is reported here is of one process's share of the batch: {doubt.reason}",
                "reduce it over the processes, or report it from an evaluation",
            )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Edited]:
    """The reduction, or the factor."""
    leaf: Leaf = ruling.data
    applied = {
        id(other.data.node): other.data
        for found in rulings.by_rule.values()
        for other in found
        if other.verdict is Verdict.APPLY and isinstance(other.data, Leaf)
    }
    total = postponed(plan).get(id(leaf.node))
    if total is not None and all(id(each.node) in applied for each in total.leaves):
        yield from reduced_where_read(plan, leaf, applied)
    elif (place := ahead(plan).get(id(leaf.node))) is not None:
        yield from own_statement(plan, leaf, place, applied)
    elif leaf.change is Change.COUNT:
        yield from multiplied(plan, leaf.module, leaf.node, leaf.degree)
    elif leaf.change is Change.SHARED_COUNT:
        yield Helper("shard_count", leaf.module)
        before, after = "", f" * {plan.names_in(leaf.module).fresh('shard_count')}({leaf.loader})"
        if needs_parentheses(leaf.module, leaf.node):
            before, after = "(", f"{after})"
        yield from surrounded(leaf.module, leaf.node, before, after)
    elif leaf.change is Change.SHARED_SUM:
        yield Helper("reduce_shards", leaf.module)
        name = plan.names_in(leaf.module).fresh("reduce_shards")
        yield from surrounded(leaf.module, leaf.node, f"{name}(", f", {leaf.loader})")
    elif leaf.pending is not None:
        yield from settled(plan, leaf.pending)
    elif leaf.plain:
        yield Helper("reduce_number", leaf.module)
        name = plan.names_in(leaf.module).fresh("reduce_number")
        before, after = f"{name}(", ")"
        if leaf.change is Change.SUM:
            yield Helper("get_world_size", leaf.module)
            after = f") * {world_size(plan, leaf.module)}"
            if needs_parentheses(leaf.module, leaf.node):
                before, after = f"({before}", f"{after})"
        yield from surrounded(leaf.module, leaf.node, before, after)
    else:
        helper = "reduce_sum" if leaf.change is Change.SUM else "reduce_mean"
        yield from reduced(plan, leaf.module, leaf.node, helper)
        if leaf.cuts is not None and leaf.degree and leaf.change is Change.MEAN:
            for edit in replace_expression(leaf.module.source, leaf.cuts, "float"):
                yield In(leaf.module, edit)
