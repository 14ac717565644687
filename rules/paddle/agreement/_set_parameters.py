"""What training puts into parameters and gradients that is made of one process's share."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.events import Event
from transpile.facts.values import Opaque, Value, Values
from transpile.plan.graph import walk_back
from transpile.plan.model import Plan
from transpile.plan.roles.optimizers import gives_parameters
from transpile.quantity.domain import Kind
from transpile.quantity.tensors.in_place import changed_in_place
from transpile.rules.paddle.losses._shares import Shares

#: What is picked out of the parameters of a layer, or belongs to one of them.
PICKED = frozenset({"element", "item", "attribute"})
OWN = frozenset({"weight", "bias"})


def set_by_share(plan: Plan, after: Shares) -> Iterator[Event]:
    """The places in training that change parameters by one process's share of a batch.

    Args:
        plan: the plan.
        after: the quantities, once numbers are taken over all processes.
    """
    seen: set[int] = set()
    for event in plan.facts.events:
        if event.detached or id(event.node) in seen or not plan.in_training(event.stack):
            continue
        changed: Values = changed_in_place(event)
        given = tuple(value for item in event.arguments.items for value in item.values)
        if event.kind == "store" and event.name == "[]":
            changed, given = event.callee, event.result
        if any(is_parameter(plan, each) for each in changed) and of_share(after, given):
            seen.add(id(event.node))
            yield event


def of_share(after: Shares, values: Values) -> bool:
    """Whether values are made of what one process has of the training batches."""
    found = after.of(values)
    apart = found.kind in (Kind.SAMPLE, Kind.PART, Kind.UNKNOWN) or bool(found.pending)
    return apart and not found.agreed and after.of_training(values)


def is_parameter(plan: Plan, value: Value) -> bool:
    """Whether a value is a parameter, or the gradient of one."""
    return any(
        gives_parameters((each,), plan.table)
        or (isinstance(each, Opaque) and each.kind == "attribute" and each.name in OWN)
        for each in walk_back((value,), lambda one: isinstance(one, Opaque) and one.kind in PICKED)
    )
