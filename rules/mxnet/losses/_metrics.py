"""What is known of metrics: which of them are sums over counts."""

from __future__ import annotations

from transpile.facts.values import Constant, External, Function, Instance, Opaque, Sequence, Values
from transpile.plan.graph import called_names

#: Metrics that are more than a sum over a count, by their names in lower case.
UNUSUAL = frozenset(
    {
        "f1", "mcc", "pcc", "pearsoncorrelation", "pearsonr", "fbeta", "binaryaccuracy", "rmse",
        "root_mean_squared_error", "custommetric", "np",
    }
)  # fmt: skip
METRICS = "mxnet.metric."
BASE = "mxnet.metric.EvalMetric"


def is_metric(value: object) -> bool:
    """Whether a value is a metric of MXNet."""
    return isinstance(value, Opaque) and any(n.startswith(METRICS) for n in called_names(value))


def is_shared_metric(values: Values) -> bool:
    """Whether a metric is of a class of the script that holds another one."""
    return any(
        isinstance(value, Instance)
        and BASE in value.cls.external_bases()
        and "metric" in value.attributes
        for value in values
    )


def unusual(values: Values, depth: int = 0) -> bool:
    """Whether a metric, or what one is made from, may be more than a sum over a count."""
    return any(unusual_value(value, depth) for value in values)


def unusual_value(value: object, depth: int) -> bool:
    """See :func:`unusual`."""
    if depth > 4:
        return True
    if isinstance(value, Constant):
        return isinstance(value.value, str) and value.value.lower() in UNUSUAL
    if isinstance(value, Sequence):
        return unusual(value.every(), depth + 1)
    if isinstance(value, (Function, Instance)):
        return True
    if isinstance(value, Opaque) and value.kind == "call":
        names = called_names(value)
        if any(name.startswith(METRICS) for name in names):
            if any(name.rpartition(".")[2].lower() in UNUSUAL for name in names):
                return True
            inner = ("mxnet.metric.create", "mxnet.metric.CompositeEvalMetric")
            if any(name in inner for name in names):
                return any(unusual(each.values, depth + 1) for each in value.arguments.items)
            return False
        return bool(value.callee) and not all(isinstance(c, External) for c in value.callee)
    return False
