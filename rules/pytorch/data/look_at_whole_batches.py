"""Show whole batches where a script only looks at one of its training batches.

What:
    ``iter`` of a training loader whose batches no loss learns of goes over batches of all
    processes together.

Why:
    A script that shows some samples before it trains knows how many a batch has, and walks over as
    many: a process's share of the batch holds fewer, and the script would fail.

Before:
    images, labels = next(iter(train_loader))
    print([labels[i] for i in range(32)])

After:
    images, labels = next(iter(whole_batches(train_loader)))
    print_once([labels[i] for i in range(32)])

Refuses when:
    never: under ``--batch-size per-device`` a process's batch is as large as the script's.

Source:
    https://pytorch.org/tutorials/beginner/blitz/cifar10_tutorial.html (shows a batch of the
    training loader); https://pytorch.org/docs/stable/data.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.layout import wrap_expression
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.pytorch.data._looking import loader_behind, looks

#: Where calls are sharded, every rank has the whole batch.
WAYS = ("data",)
CODES = {"PT228": "a batch that is only looked at is that of all processes"}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each place where a training batch is looked at."""
    if plan.options.batch_size == "per-device":
        return
    seen: set[int] = set()
    for event, given in looks(plan):
        node = event.node
        if id(node) in seen or not isinstance(node, cst.Call) or len(node.args) != 1:
            continue
        seen.add(id(node))
        if all(loader_behind(plan, value) is not None for value in given):
            yield Ruling.apply(
                "PT228",
                (event.module, node),
                "a batch of all processes is looked at here",
                data=node.args[0].value,
            )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The loader of whole batches."""
    node: cst.BaseExpression = ruling.data
    yield Helper("whole_batches", ruling.module)
    name = plan.names_in(ruling.module).fresh("whole_batches")
    for edit in wrap_expression(ruling.module.source, node, f"{name}(", ")"):
        yield In(ruling.module, edit)
