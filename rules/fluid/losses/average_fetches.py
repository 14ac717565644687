"""Have the parameter servers average what trainers fetch of their shares of a batch.

What:
    Means and sums over a batch that a training run fetches, such as its loss and its accuracy, are
    sent to the parameter servers like gradients, and come back as those of the whole batch. What is
    printed, kept or decided on is then what one process has, and the same in all trainers.

Why:
    Each trainer computes its share of a batch, and its loss is that of this share.

Before:
    for data in train_reader():
        value = exe.run(feed=feeder.feed(data), fetch_list=[avg_loss])

After:
    for data in train_reader():
        value = exe.run(feed=feeder.feed(data), fetch_list=averages_of([avg_loss]))

Refuses when:
    never: what is no mean or sum over samples, or has no one name, is reported by the rule for
    losses.

Source:
    https://www.paddlepaddle.org.cn/documentation/docs/en/1.8/api/transpiler/DistributeTranspiler.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.layout import wrap_expression
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.fluid._roles import roles_of
from transpile.rules.fluid.losses._averages import averaged

CODES = {"FL321": "what is fetched is averaged over the trainers"}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each run that fetches means."""
    for minimize in roles_of(plan).minimizes if roles_of(plan).transpiles else ():
        yield Ruling.done("FL321", minimize.event, "the script transpiles its program itself")
    for each in averaged(plan):
        yield Ruling.apply(
            "FL321",
            (each.event.module, each.node),
            "what is fetched is averaged over the trainers",
        )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The helper around what is fetched."""
    assert isinstance(ruling.node, cst.List)
    yield Helper("averages_of", ruling.module)
    name = plan.names_in(ruling.module).fresh("averages_of")
    for edit in wrap_expression(ruling.module.source, ruling.node, f"{name}(", ")"):
        yield In(ruling.module, edit)
