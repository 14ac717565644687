"""What the data sets of loaders are made of, through the project's objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from transpile.facts.values import Instance, Value, Values
from transpile.plan.graph import parents
from transpile.plan.model import Plan
from transpile.plan.query import query

#: The arguments of a loader that say which samples there are.
SAMPLES = ("dataset", "sampler", "batch_sampler")


def reach(values: Iterable[Value], reached: set[int]) -> None:
    """Add the identities of values and of everything that they are made of."""
    pending = list(values)
    while pending:
        value = pending.pop()
        if id(value) in reached:
            continue
        reached.add(id(value))
        for group in groups(value):
            pending.extend(group)


def groups(value: Value) -> Iterator[Values]:
    """The groups of values that a value is made of: attributes and arguments of an object."""
    if not isinstance(value, Instance):
        yield from parents(value)
        return
    yield from value.attributes.values()
    if value.arguments is not None:
        for item in value.arguments.items:
            yield item.values


@query
def of_loaders(plan: Plan) -> set[int]:
    """The identities of what the data of all loaders is made of."""
    found: set[int] = set()
    for loader in plan.loaders:
        for name in SAMPLES:
            argument = loader.argument(name)
            if argument is not None:
                reach(argument.values, found)
    return found
