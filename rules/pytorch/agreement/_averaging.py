"""Functions by which a library averages the weights of models, and the numbers that they read."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.events import Event
from transpile.facts.values import External, Instance, Mapping, Sequence, Value, Values
from transpile.facts.walk import descendants
from transpile.plan.graph import is_instance_of
from transpile.plan.hooks.functions import code_of
from transpile.plan.model import Plan
from transpile.quantity.asking import Kind, analysis

#: What averages by functions, to their names and positions among the arguments.
AVERAGING = {
    "torch.optim.swa_utils.AveragedModel": (("avg_fn", 2), ("multi_avg_fn", 3)),
}


def averages_by_batch(plan: Plan, event: Event) -> bool:
    """Whether a call makes an average by a function that reads numbers of the batch."""
    for callee in event.callee:
        name = callee.name if isinstance(callee, External) else ""
        for keyword, position in AVERAGING.get(name, ()):
            given = event.arguments.get(keyword, position)
            for value in given.values if given is not None else ():
                if any(is_of_batch(plan, one) for one in read_by(plan, value)):
                    return True
    return False


def read_by(plan: Plan, value: Value) -> Iterator[Value]:
    """What a function reads of what stands around it, or an object that is called of its own."""
    if isinstance(value, Instance):
        yield from kept(plan, value)
    function = code_of(value)
    for node in descendants(function.node) if function is not None else ():
        for one in plan.facts.values_of(node):
            yield one
            yield from kept(plan, one)


def kept(plan: Plan, value: Value) -> Values:
    """What a list, a dict or an object of the project keeps, whenever it is put there."""
    if isinstance(value, (Sequence, Mapping)):
        return value.every()
    if isinstance(value, Instance) and not is_instance_of(value, plan.table.module_bases):
        return tuple(one for values in value.attributes.values() for one in values)
    return ()


def is_of_batch(plan: Plan, value: Value) -> bool:
    """Whether a value is a number of this process's part of the batch."""
    found = analysis(plan).of((value,))
    return found.kind is Kind.PART or bool(found.pending)
