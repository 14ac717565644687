"""Shard the evaluation, where that was asked for.

What:
    With ``--eval shard`` each worker evaluates every N-th batch of what the script evaluates. What
    adds up in such a loop, metrics and numbers that begin with 0, becomes the sum over the workers,
    and so do the metrics of ``score`` and of the evaluation of ``fit``. A loop in which something
    else happens is gone through by every worker, and a warning says why.

Why:
    The workers would otherwise all evaluate everything. Whole batches are sharded, so that no
    sample counts twice and none is left out: the numbers stay those of the whole data.

Before:
    for data, label in test_loader:
        total += label.size

After:
    for data, label in EvaluationShare(test_loader):
        total += label.size
    (total,) = add_counts(total)

Refuses when:
    never.

Source:
    https://mxnet.apache.org/versions/1.9.1/api/python/docs/api/metric/index.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import Argument, Constant
from transpile.layout import insert_after, wrap_expression
from transpile.plan.model import Plan
from transpile.records import dataclass
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.mxnet._roles import (
    can_reduce,
    fits,
    made_by,
    receivers_of,
    training_loaders,
)
from transpile.rules.mxnet._vocabulary import MODULES
from transpile.rules.mxnet.losses._evaluation import SERVERS, Shared, evaluations, has_order
from transpile.rules.mxnet.losses._metrics import unusual

CODES = {
    "MX611": "evaluation is not sharded over the workers",
    "MX612": "each worker evaluates its share of the batches",
}
#: Where calls are split, every worker has whole batches.
WAYS = ("data",)


@dataclass(frozen=True, eq=False)
class Scored:
    """A call that evaluates by itself.

    Args:
        module: where it is.
        call: the call.
        data: the data.
        metric: the metric, where it is one of the call alone.
    """

    module: Module
    call: cst.CSTNode
    data: cst.BaseExpression
    metric: cst.BaseExpression | None


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each evaluation, where sharing it out was asked for."""
    if plan.options.evaluation != "shard":
        return
    for found in evaluations(plan):
        if isinstance(found, Shared):
            yield share(found.module, found.loop, found)
        else:
            yield whole(found.module, found.loop, found.why)
    for event, data, metric in scorings(plan):
        why = obstacle(plan, data, metric)
        if why:
            yield whole(event.module, event.node, why)
            continue
        assert isinstance(data.node, cst.BaseExpression)
        node = metric.node if metric is not None else None
        shared = node if isinstance(node, cst.BaseExpression) else None
        yield share(event.module, event.node, Scored(event.module, event.node, data.node, shared))


def share(module: Module, node: cst.CSTNode, data: Shared | Scored) -> Ruling:
    """The answer for an evaluation that is sharded."""
    reason = "each worker evaluates its share of the batches"
    return Ruling.apply("MX612", (module, node), reason, data=data)


def whole(module: Module, node: cst.CSTNode, why: str) -> Remark:
    """The warning about an evaluation that every worker goes through."""
    return Remark.warn(
        "MX611",
        (module, node),
        f"every worker evaluates all of this: {why}",
        "nothing is wrong: the numbers are those of the whole data",
    )


def scorings(plan: Plan) -> Iterator[tuple[Event, Argument, Argument | None]]:
    """The calls that evaluate by themselves: the data, and the metric of ``score``."""
    seen: set[int] = set()
    for fit in fits(plan):
        data = fit.argument("eval_data") if fit.data else None
        if data is not None and data.values != (Constant(None),):
            seen.add(id(fit.event.node))
            yield fit.event, data, None
    for event in plan.facts.reached_calls:
        if id(event.node) in seen:
            continue
        if made_by(receivers_of(event, "score"), MODULES):
            data = event.arguments.get("eval_data", 0)
            metric = event.arguments.get("eval_metric", 1)
            if data is not None and metric is not None:
                seen.add(id(event.node))
                yield event, data, metric


def obstacle(plan: Plan, data: Argument, metric: Argument | None) -> str:
    """Why the workers cannot share a call that evaluates by itself; empty where they can."""
    if not can_reduce(plan):
        reason: str = SERVERS
        return reason
    if any(fit.word.startswith("FeedForward") for fit in fits(plan)):
        return "a FeedForward counts the samples of its data itself"
    training = {id(loader) for loader in training_loaders(plan)}
    found = {id(loader.value): loader for loader in plan.loaders}
    behind = [found.get(id(value)) for value in data.values]
    if any(loader is None or id(loader) in training for loader in behind) or data.node is None:
        return "it cannot be seen that nothing is trained on its data"
    if any(loader is not None and not has_order(loader) for loader in behind):
        return "its batches are in another order in every worker"
    given = [fit.event.arguments.keyword("validation_metric") for fit in fits(plan)]
    if metric is None:
        metrics = [fit.argument("eval_metric") for fit in fits(plan)]
        if any(given) or any(m is not None and unusual(plan, m.values) for m in metrics):
            return "its metric cannot be told to be a sum over a count"
        return ""
    if unusual(plan, metric.values):
        return "its metric is more than a sum over a count"
    if not isinstance(metric.node, (cst.SimpleString, cst.List, cst.Call)):
        return "its metric is read elsewhere, too"
    return ""


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The share around the data, and the sums behind the loop."""
    found: Shared | Scored = ruling.data
    source, names = found.module.source, plan.names_in(found.module)
    yield Helper("EvaluationShare", found.module)
    opening = f"{names.fresh('EvaluationShare')}("
    for edit in wrap_expression(source, found.data, opening, ")"):
        yield In(found.module, edit)
    if isinstance(found, Scored):
        if found.metric is not None:
            yield Helper("SharedMetric", found.module)
            opening = f"{names.fresh('SharedMetric')}("
            for edit in wrap_expression(source, found.metric, opening, ")"):
                yield In(found.module, edit)
    elif found.numbers:
        yield Helper("add_counts", found.module)
        listed = ", ".join(found.numbers)
        target = listed if len(found.numbers) > 1 else f"({listed},)"
        line = f"{target} = {names.fresh('add_counts')}({listed})"
        for edit in insert_after(source, found.loop, [line]):
            yield In(found.module, edit)
