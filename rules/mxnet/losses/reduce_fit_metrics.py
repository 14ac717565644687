"""Report the metrics of a call that trains by itself over the samples of all workers.

What:
    ``eval_metric`` of ``fit`` goes through a metric that adds up what all workers have counted
    whenever it is read: by ``fit`` itself, by ``Speedometer`` or by another callback. Without the
    argument it is accuracy, as in ``fit``. Evaluation goes over all its data in every worker, where
    the sums over the workers leave the metric what it is.

Why:
    Each worker trains on its part of the data, and would log the metric of that part.

Before:
    module.fit(train_iter, eval_metric="ce", num_epoch=1, kvstore=kv)

After:
    module.fit(train_iter, eval_metric=SharedMetric("ce"), num_epoch=1, kvstore=kv)

Refuses when:
    never: with servers that update parameters, and for metrics that do not add up, a warning says
    whose numbers are logged.

Source:
    https://mxnet.apache.org/versions/1.9.1/api/python/docs/api/metric/index.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.layout import add_argument, wrap_expression
from transpile.plan.model import Plan
from transpile.result import Verdict
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.mxnet._roles import Fit, fits
from transpile.rules.mxnet.losses._metrics import is_shared_metric, why_of_one_worker

CODES = {
    "MX603": "the metric of a call that trains counts the samples of all workers",
    "MX604": "the metric of a call that trains is that of one worker",
}
#: Where calls are split, every worker has whole batches.
WAYS = ("data",)


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each call that trains by itself."""
    for fit in fits(plan):
        if not fit.data:
            continue
        metric = fit.argument("eval_metric")
        if metric is not None and is_shared_metric(metric.values):
            yield ruling(fit, Verdict.ALREADY_DONE)
            continue
        why = why_of_one_worker(plan, fit)
        if why:
            yield Remark.warn(
                "MX604",
                fit.event,
                f"the metric that is logged in training is that of the worker with rank 0: {why}",
                "take it for what one worker has seen",
            )
        else:
            yield ruling(fit, Verdict.APPLY)


def ruling(fit: Fit, verdict: Verdict) -> Ruling:
    """The answer for one call."""
    return Ruling(
        "MX603",
        verdict,
        fit.event.module,
        fit.event.node,
        "its metric counts the samples of all workers",
        data=fit,
    )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The helper around the metric."""
    fit: Fit = ruling.data
    module, call = fit.event.module, fit.event.node
    assert isinstance(call, cst.Call)
    yield Helper("SharedMetric", module)
    opening = f"{plan.names_in(module).fresh('SharedMetric')}("
    metric = fit.argument("eval_metric")
    changes = (
        wrap_expression(module.source, metric.node, opening, ")")
        if metric is not None and isinstance(metric.node, cst.BaseExpression)
        else add_argument(module.source, call, f'eval_metric={opening}"acc")')
    )
    for edit in changes:
        yield In(module, edit)
