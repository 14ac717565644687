"""Over how many devices of a worker a script splits its batches."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.values import (
    Constant,
    External,
    Opaque,
    Sequence,
    Value,
    Values,
    only_constant,
)
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan
from transpile.plan.query import query

#: What takes the devices of a worker: the argument, and where it stands.
TAKING = {
    "mxnet.gluon.utils.split_and_load": ("ctx_list", 1),
    "mxnet.module.Module": ("context", 4),
    "mxnet.module.BucketingModule": ("context", 3),
    "mxnet.model.FeedForward": ("ctx", 1),
}


def contexts(plan: Plan) -> Iterator[Value]:
    """The devices, or lists of them, that batches are split over."""
    for event in plan.facts.reached_calls:
        for callee in event.callee:
            name = callee.name if isinstance(callee, External) else ""
            if name in TAKING:
                given = event.arguments.get(*TAKING[name])
                yield from given.values if given is not None else ()


@query
def count_of_devices(plan: Plan) -> int | None:
    """How many devices a worker has; None where only the run can tell."""
    counts = {length(plan, value) for value in contexts(plan)}
    return counts.pop() if len(counts) == 1 else None if counts else 1


def length(plan: Plan, value: Value) -> int | None:
    """How many devices a value is; None where that is not known."""
    if not isinstance(value, Sequence):
        alone = called_names(value) or isinstance(value, (External, Constant))
        return 1 if alone else None
    if not value.rest:
        return len(value.elements)
    constant = only_constant(counted(plan, value))
    return constant.value if constant and isinstance(constant.value, int) else None


def counted(plan: Plan, value: Sequence) -> Values:
    """The number that a list of devices is made of, as in ``[mx.gpu(i) for i in range(4)]``."""
    node = value.node
    if not isinstance(node, cst.ListComp) or node.for_in.ifs or node.for_in.inner_for_in:
        return ()
    call = node.for_in.iter
    if not isinstance(call, cst.Call) or len(call.args) != 1:
        return ()
    ranges = plan.facts.values_of(call.func) == (External("builtins.range"),)
    return plan.facts.values_of(call.args[0].value) if ranges else ()


def counts_devices(plan: Plan, size: Values) -> bool:
    """Whether a size of batches is made of the number of devices already."""
    lists = [value for value in contexts(plan) if isinstance(value, Sequence)]
    numbers = {
        id(number)
        for value in lists
        for number in counted(plan, value)
        if isinstance(number, Opaque)
    }
    own = {id(value) for value in lists}
    for value in walk_back(size):
        if id(value) in numbers:
            return True
        if isinstance(value, Opaque) and value.name == "len":
            if any(id(one) in own for operand in value.operands for one in operand):
                return True
    return False
