"""Report numbers of the training loop over the samples of all workers.

What:
    Where a mean or a sum over a training batch is read (``loss.mean().asscalar()``) and something
    that is reported or decided is made of it, or something that an optimizer is set to or a step
    divides by, it becomes that over the batches of all workers. A count of samples that a batch is
    added to grows by those of all workers.

Why:
    A worker has seen its part of each batch only: it would report the loss of that part, stop at
    another batch than the others, and take steps of another size.

Before:
    total += loss.mean().asscalar()

After:
    total += average_workers(loss.mean().asscalar())

Refuses when:
    never: a warning names numbers that are neither means nor sums, and what metrics of one worker
    set.

Source:
    https://mxnet.apache.org/versions/1.9.1/api/python/docs/api/kvstore/index.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import Opaque
from transpile.layout import wrap_expression
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.mxnet._roles import can_reduce
from transpile.rules.mxnet.data._loaders import asks_workers, from_store
from transpile.rules.mxnet.effects._vocabulary import VOCABULARY
from transpile.rules.mxnet.losses._decided import decided_settings
from transpile.rules.mxnet.losses._followed import chosen_by_one_worker, set_by_one_worker
from transpile.rules.mxnet.losses._numbers import Number, in_training, numbers_of
from transpile.rules.mxnet.losses._settings import settings

CODES = {
    "MX605": "a number counts the samples of all workers",
    "MX613": "an optimizer is set to what one worker has of its batches",
    "MX614": "one worker's part of a batch decides how training goes on",
    "MX615": "parameters are set by what one worker has of a batch",
}
#: Where calls are split, every worker has whole batches.
WAYS = ("data",)


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each place that reads a number."""
    for number in numbers_of(plan, VOCABULARY).chosen.values():
        yield Ruling.apply(
            "MX605",
            number,
            "it counts the samples of all workers",
            data=number,
            done=is_done(plan, number),
        )
    yield from set_by_one(plan)
    for where in chosen_by_one_worker(plan):
        yield Remark.warn(
            "MX614",
            where,
            "each worker answers this by its own part of the batch, and may go on otherwise than "
            "the others, and than one process does",
            "ask a sum or a mean over the batch that is read by asscalar(), or split the network's "
            "calls (--shard calls)",
        )


def set_by_one(plan: Plan) -> Iterator[Remark]:
    """Warnings of settings of optimizers that are made of what cannot be added up."""
    seen: set[int] = set()
    for event, values in settings(plan):
        if id(event.node) in seen or not in_training(plan, values):
            continue
        seen.add(id(event.node))
        if not can_reduce(plan) or not numbers_of(plan, VOCABULARY).explain(values):
            yield Remark.warn(
                "MX613",
                event,
                "what is set here is made of one worker's part of the batches, so that the workers "
                "take steps of other sizes than one process does",
                "make it of a sum or a mean over the batch that is read by asscalar(), of a count "
                "of samples that grows by +=, or of the number of steps",
            )
    for event, of_optimizer in set_by_one_worker(plan):
        if id(event.node) in seen:
            continue
        seen.add(id(event.node))
        if of_optimizer:
            yield Remark.warn(
                "MX613",
                event,
                "what is set here follows from one worker's part of the batches: the workers set "
                "other values, and take other steps than one process does",
                "let it follow from a sum or a mean over the batch that is read by asscalar()",
            )
        else:
            yield Remark.warn(
                "MX615",
                event,
                "these parameters are set by one worker's part of the batch: those of the workers "
                "come apart",
                "make it of a sum or a mean over the batch that is read by asscalar()",
            )
    for where in decided_settings(plan):
        node = where.node if isinstance(where, Event) else where[1]
        if id(node) not in seen:
            seen.add(id(node))
            yield Remark.warn(
                "MX613",
                where,
                "what is set here follows a metric that is one worker's part of the training data: "
                "the workers set other values at other times, and their weights come apart",
                "let it follow a metric that is a sum over a count, such as accuracy or mse, or a "
                "score of the whole evaluation data",
            )


def is_done(plan: Plan, number: Number) -> bool:
    """Whether what is read goes straight into something that asks all workers."""
    source = number.module.source
    parent = source.parent(number.node)
    if isinstance(number.node, cst.Call) and asks_workers(plan, number.node):
        return True
    if isinstance(parent, cst.BinaryOperation):
        return bool(from_store(plan.facts.values_of(parent), "num_workers"))
    call = source.parent(parent) if isinstance(parent, cst.Arg) else None
    return isinstance(call, cst.Call) and any(
        isinstance(value, Opaque) and asks_workers(plan, call)
        for value in plan.facts.values_of(call)
    )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The helper around what is read."""
    number: Number = ruling.data
    source, names = number.module.source, plan.names_in(number.module)
    if number.counted:
        yield Helper("get_num_workers", number.module)
        opening, closing = "", f" * {names.fresh('get_num_workers')}()"
    else:
        helper = "average_workers" if number.mean else "add_workers"
        yield Helper(helper, number.module)
        opening, closing = f"{names.fresh(helper)}(", ")"
    for edit in wrap_expression(source, number.node, opening, closing):
        yield In(number.module, edit)
