"""Report numbers of the global batch, not of one process's share.

What:
    What the script prints, logs, keeps or adds up from training batches is taken over all
    processes where it leaves the tensors: means become the mean, sums the sum over the processes,
    and numbers of samples are multiplied by the number of processes.

Why:
    Each process sees its share of each batch only. The loss that rank 0 prints would be that of a
    part of the data, a count too small, and decisions would differ between the processes.

Before:
    total_loss += loss.item()

After:
    total_loss += reduce_mean(loss).item()

Refuses when:
    never: numbers that cannot be told are reported, and stay those of one process.

Source:
    https://www.paddlepaddle.org.cn/documentation/docs/en/api/paddle/distributed/all_reduce_en.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.layout import wrap_expression
from transpile.plan.model import Plan
from transpile.rule import Answer, Helper, In, Remark, Ruling, Rulings
from transpile.rule import Change as Edited
from transpile.rules.paddle.losses._leaves import Change, Leaf
from transpile.rules.paddle.losses._numbers import numbers
from transpile.text.changes import Insert

CODES = {
    "PD601": "a number is reported over the global batch",
    "PD602": "a number of samples is that of all processes",
    "PD603": "a number is that of one process's share of the batch",
    "PD604": "a shape of one process's share of the batch is shown",
}
#: Where calls are split, every process has whole batches.
WAYS = ("data",)
REASONS = {
    Change.MEAN: "this mean is taken over all processes",
    Change.SUM: "this sum is taken over all processes",
    Change.COUNT: "this number of samples is that of all processes",
}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each place where a number leaves the batch."""
    found = numbers(plan)
    for leaf in found.leaves.values():
        yield Ruling.apply(
            "PD602" if leaf.change is Change.COUNT else "PD601",
            leaf,
            REASONS[leaf.change],
            data=leaf,
        )
    for doubt in found.doubts.values():
        if id(doubt.node) not in found.leaves:
            yield Remark.warn(
                "PD603",
                doubt,
                f"what is reported here is of one process's share of the batch: {doubt.reason}",
                "reduce it over the processes, or report it from an evaluation",
            )
    for shape in found.shapes.values():
        yield Remark.note(
            "PD604",
            shape,
            shape.reason,
            "multiply its first number by the number of processes if all samples are meant",
        )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Edited]:
    """The reduction, or the factor."""
    leaf: Leaf = ruling.data
    source = leaf.module.source
    if leaf.change is Change.COUNT:
        dist = plan.names_in(leaf.module).imported("paddle.distributed", "dist")
        span = source.span(leaf.node)
        before, after = "", f" * {dist}.get_world_size()"
        if needs_parentheses(leaf):
            before, after = "(", f"{after})"
            yield In(leaf.module, Insert(span.start, before, 0, "open", span))
        yield In(leaf.module, Insert(span.end, after, 0, "close", span))
        return
    yield Helper(leaf.change.value, leaf.module)
    name = plan.names_in(leaf.module).fresh(leaf.change.value)
    for edit in wrap_expression(source, leaf.node, f"{name}(", ")"):
        yield In(leaf.module, edit)


def needs_parentheses(leaf: Leaf) -> bool:
    """Whether a product in the place of the expression must stand in parentheses."""
    parent = leaf.module.source.parent(leaf.node)
    if isinstance(parent, (cst.Attribute, cst.Subscript, cst.UnaryOperation)):
        return True
    return isinstance(parent, cst.BinaryOperation) and parent.right is leaf.node
