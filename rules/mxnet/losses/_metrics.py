"""What is known of metrics: which of them are sums over counts."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.values import (
    Class,
    Constant,
    External,
    Function,
    Instance,
    Opaque,
    Sequence,
    Values,
)
from transpile.facts.walk import descendants
from transpile.plan.graph import called_names
from transpile.plan.model import Plan
from transpile.rules.mxnet._roles import Fit, can_reduce, fits_at, receivers_of
from transpile.rules.mxnet.losses._bent_metrics import bends

#: Metrics that are more than a sum over a count, by their names in lower case.
UNUSUAL = frozenset(
    {
        "f1", "mcc", "pcc", "pearsoncorrelation", "pearsonr", "fbeta", "binaryaccuracy", "rmse",
        "root_mean_squared_error", "custommetric", "np",
    }
)  # fmt: skip
METRICS = "mxnet.metric."
BASE = "mxnet.metric.EvalMetric"


#: The attributes of a metric that are added up over the workers.
ADDED_UP = frozenset({"sum_metric", "num_inst", "global_sum_metric", "global_num_inst"})
#: Methods of a metric that say what it counts, not what is reported of it.
COUNTING = frozenset({"__init__", "update", "update_dict", "reset", "reset_local"})
#: Those of them that start it again.
STARTING = frozenset({"__init__", "reset", "reset_local"})
#: Methods that make something of the counts where they are read: then of those of all workers.
REPORTING = frozenset({"get", "get_global", "get_name_value", "get_global_name_value", "__str__"})


def is_metric(value: object) -> bool:
    """Whether a value is a metric of MXNet, or of a class of the script that derives from one."""
    if isinstance(value, Instance):
        return is_own_metric(value)
    return isinstance(value, Opaque) and any(n.startswith(METRICS) for n in called_names(value))


def is_own_metric(value: Instance) -> bool:
    """Whether an object is of a class of the script that derives from a metric of MXNet."""
    return any(name.startswith(METRICS) for name in value.cls.external_bases())


def is_own_sum(value: Instance) -> bool:
    """Whether a metric of the script is the base's sum over a count, however it counts."""
    if set(value.cls.external_bases()) != {BASE}:
        return False
    for cls in value.cls.ancestry():
        for name, held in cls.scope.names.items() if isinstance(cls, Class) else ():
            for method in held:
                if not isinstance(method, Function) or isinstance(method.node, cst.Lambda):
                    continue
                if name in REPORTING and not stored(method.node):
                    continue
                if name not in COUNTING:
                    return False
                if name != "__init__" and not stored(method.node) <= ADDED_UP:
                    return False
                if not adds_up(method.node, name in STARTING) or bends(method.node):
                    return False
    return True


def adds_up(method: cst.FunctionDef, starts: bool) -> bool:
    """Whether a method adds to what is added up over the workers, or sets it to nothing.

    What keeps the lowest of all batches, or a running mean of them, is no sum of the workers'.

    Args:
        method: the method.
        starts: it is where the counts start.
    """
    for node in descendants(method):
        if isinstance(node, cst.AugAssign):
            if counted_by(node.target) and (
                not isinstance(node.operator, (cst.AddAssign, cst.SubtractAssign))
                or counted_by(node.value)
            ):
                return False
        elif isinstance(node, (cst.Assign, cst.AnnAssign)):
            targets = (
                [each.target for each in node.targets]
                if isinstance(node, cst.Assign)
                else [node.target]
            )
            for target, value in (pair for each in targets for pair in paired(each, node.value)):
                if not counted_by(target) or value is None:
                    continue
                if not (is_nothing(value) if starts else is_grown(target, value)):
                    return False
    return True


def paired(
    target: cst.BaseExpression, value: cst.BaseExpression | None
) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression | None]]:
    """The targets of an assignment, each with what it is set to."""
    both = (target, value)
    if all(isinstance(each, (cst.Tuple, cst.List)) for each in both):
        ours, theirs = target.elements, value.elements  # type: ignore[union-attr, attr-defined]
        if len(ours) == len(theirs):
            for one, other in zip(ours, theirs, strict=True):
                yield from paired(one.value, other.value)
            return
    yield target, value


def counted_by(node: cst.CSTNode) -> bool:
    """Whether an expression reads or writes what is added up over the workers."""
    return any(
        isinstance(inner, cst.Attribute) and inner.attr.value in ADDED_UP
        for inner in descendants(node)
    )


def is_nothing(value: cst.BaseExpression) -> bool:
    """Whether a count starts at nothing there."""
    return isinstance(value, (cst.Integer, cst.Float)) and not value.evaluated_value


def is_grown(target: cst.BaseExpression, value: cst.BaseExpression) -> bool:
    """Whether a count is set to itself and more."""
    if not isinstance(value, cst.BinaryOperation) or not isinstance(value.operator, cst.Add):
        return False
    sides = [value.left, value.right]
    own = [side for side in sides if side.deep_equals(target)]
    return len(own) == 1 and sum(map(counted_by, sides)) == 1


def stored(method: cst.FunctionDef) -> set[str]:
    """The attributes of its object that a method changes."""
    found: set[str] = set()
    for node in descendants(method):
        targets: list[cst.BaseExpression] = []
        if isinstance(node, cst.Assign):
            targets = [target.target for target in node.targets]
        elif isinstance(node, (cst.AugAssign, cst.AnnAssign)):
            targets = [node.target]
        elif isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
            # What is called on an attribute may change it.
            targets = [node.func.value]
        for target in targets:
            for inner in descendants(target):
                if isinstance(inner, cst.Attribute) and isinstance(inner.value, cst.Name):
                    if inner.value.value == "self":
                        found.add(inner.attr.value)
    return found


def is_shared_metric(values: Values) -> bool:
    """Whether a metric is of a class of the script that holds another one."""
    return any(
        isinstance(value, Instance)
        and BASE in value.cls.external_bases()
        and "metric" in value.attributes
        for value in values
    )


def unusual(plan: Plan, values: Values, depth: int = 0) -> bool:
    """Whether a metric, or what one is made from, may be more than a sum over a count."""
    return any(unusual_value(plan, value, depth) for value in values)


def unusual_value(plan: Plan, value: object, depth: int) -> bool:
    """See :func:`unusual`."""
    if depth > 4:
        return True
    if isinstance(value, Constant):
        return isinstance(value.value, str) and value.value.lower() in UNUSUAL
    if isinstance(value, Sequence):
        return unusual(plan, value.every(), depth + 1)
    if isinstance(value, Instance):
        return not is_own_sum(value)
    if isinstance(value, Function):
        return True
    if isinstance(value, Opaque) and value.kind == "call":
        names = called_names(value)
        if any(name.startswith(METRICS) for name in names):
            if any(name.rpartition(".")[2].lower() in UNUSUAL for name in names):
                return True
            inner = ("mxnet.metric.create", "mxnet.metric.CompositeEvalMetric")
            if any(name in inner for name in names):
                held = [each.values for each in value.arguments.items]
                held.extend(added_to(plan, value))
                return any(unusual(plan, values, depth + 1) for values in held)
            return False
        return bool(value.callee) and not all(isinstance(c, External) for c in value.callee)
    return False


def why_of_one_worker(plan: Plan, fit: Fit) -> str:
    """Why a call that trains logs the metric of its own worker; empty where it does not."""
    return next(filter(None, (why_in_one_call(plan, each) for each in fits_at(plan, fit))), "")


def why_in_one_call(plan: Plan, fit: Fit) -> str:
    """The same, for one call of the function around it."""
    metric = fit.argument("eval_metric")
    if not fit.data or (metric is not None and is_shared_metric(metric.values)):
        return ""
    if not can_reduce(plan):
        return "the servers update the parameters, and can add up nothing else"
    if metric is not None and unusual(plan, metric.values):
        return "it is more than a sum over a count"
    if metric is not None and (metric.mapping is not None or metric.node is None):
        return "where it is chosen cannot be followed"
    return ""


def added_to(plan: Plan, metric: Opaque) -> Iterator[Values]:
    """What is put into a metric of several by its method."""
    for event in plan.facts.calls_by_word.get("add", ()):
        if any(value is metric for value in receivers_of(event, "add")):
            yield from (argument.values for argument in event.arguments.items)
