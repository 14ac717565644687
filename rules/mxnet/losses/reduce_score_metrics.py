"""Report what an evaluation counts over all workers, where the script itself parts its data.

What:
    The metric of ``score`` goes through a metric that adds up what all workers have counted, where
    the data comes from an iterator that the script gives ``part_index`` of a store. What else sees
    such data, a loop or ``predict``, sees one worker's part, and a warning says so.

Why:
    Each worker evaluates its part of the data, and would report the metric of that part.

Before:
    module.score(val_iter, "acc")

After:
    module.score(val_iter, SharedMetric("acc"))

Refuses when:
    never: metrics that do not add up, and other passes over such data, are reported.

Source:
    https://mxnet.apache.org/versions/1.9.1/api/python/docs/api/metric/index.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import Argument
from transpile.layout import wrap_expression
from transpile.plan.model import Loader, Plan
from transpile.records import dataclass
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.mxnet._roles import (
    can_reduce,
    drawings,
    fits,
    made_by,
    receivers_of,
    training_loaders,
)
from transpile.rules.mxnet._vocabulary import FEED_FORWARD, FEED_FORWARD_CREATE, MODULES
from transpile.rules.mxnet.data._loaders import from_store
from transpile.rules.mxnet.losses._metrics import is_shared_metric, unusual

CODES = {
    "MX606": "the metric of an evaluation counts the samples of all workers",
    "MX607": "an evaluation sees one worker's part of its data",
}
#: Where calls are split, every worker has whole batches.
WAYS = ("data",)
SCORED = MODULES | FEED_FORWARD | {FEED_FORWARD_CREATE}
#: The data and the metric in ``score`` of a module, and of a FeedForward.
MODULE_SCORE = (("eval_data", 0), ("eval_metric", 1))
FEED_FORWARD_SCORE = (("X", 0), ("eval_metric", 1))
BY_HAND = "evaluate all of the data in every worker: leave num_parts and part_index out there"


@dataclass(frozen=True, eq=False)
class Scored:
    """The metric of a call that evaluates one worker's part.

    Args:
        module: where it is.
        metric: the metric, as it is written.
    """

    module: Module
    metric: cst.BaseExpression


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each evaluation of data that the script parts itself."""
    training = {id(loader) for loader in training_loaders(plan)}
    parted = [each for each in plan.loaders if id(each) not in training and is_parted(each)]
    made = {id(loader.value) for loader in parted}
    seen: set[int] = set()
    for event in plan.facts.events if made else ():
        if event.kind != "call" or event.detached or id(event.node) in seen:
            continue
        given = [value for each in event.arguments.items for value in each.values]
        if not any(id(value) in made for value in given):
            continue
        seen.add(id(event.node))
        if made_by(receivers_of(event, "score"), SCORED):
            yield scored(plan, event)
        elif receivers_of(event, "predict") or receivers_of(event, "iter_predict"):
            yield one_part(event)
    for fit in fits(plan):
        own = fit.event.arguments.keyword("validation_metric")
        if own is not None and id(fit.event.node) in seen:
            yield one_part(fit.event)
    for loader in parted:
        for event in drawings(plan, loader):
            if id(event.node) not in seen and not event.detached:
                seen.add(id(event.node))
                yield one_part(event)


def is_parted(loader: Loader) -> bool:
    """Whether the script gives each worker its part of some data."""
    argument = loader.argument("part_index") or loader.event.arguments.keyword("part_index")
    return argument is not None and from_store(argument.values, "rank")


def scored(plan: Plan, event: Event) -> Answer:
    """The answer for a call of ``score``."""
    of_module = made_by(receivers_of(event, "score"), MODULES)
    _, (name, position) = MODULE_SCORE if of_module else FEED_FORWARD_SCORE
    metric: Argument | None = event.arguments.get(name, position)
    if metric is not None and is_shared_metric(metric.values):
        return Ruling.done("MX606", event, "it counts all samples")
    node = metric.node if metric is not None and metric.mapping is None else None
    called = event.arguments.keyword("batch_end_callback")
    if (
        not isinstance(node, (cst.SimpleString, cst.List, cst.Call))
        or metric is None
        or unusual(plan, metric.values)
        or called is not None
        or not can_reduce(plan)
    ):
        return one_part(event)
    return Ruling.apply(
        "MX606",
        event,
        "its metric counts the samples of all workers",
        data=Scored(event.module, node),
    )


def one_part(event: Event) -> Remark:
    """The warning about an evaluation of one worker's part."""
    return Remark.warn(
        "MX607",
        event,
        "the script gives each worker its part of this data: what is evaluated here is that of one "
        "worker's part",
        BY_HAND,
    )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The helper around the metric."""
    data: Scored = ruling.data
    yield Helper("SharedMetric", data.module)
    opening = f"{plan.names_in(data.module).fresh('SharedMetric')}("
    for edit in wrap_expression(data.module.source, data.metric, opening, ")"):
        yield In(data.module, edit)
