"""The numbers that models are made of."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.values import Class, Constant, External, Sequence, Values
from transpile.plan.model import Plan
from transpile.plan.query import query


@query
def layer_widths(plan: Plan) -> frozenset[int]:
    """The numbers that layers, models of the project and declared inputs are made of."""
    words = plan.table.quantities
    makers = (*words.layers.packages, *words.layer_functions, *words.samples)
    return frozenset(
        number
        for event in plan.facts.calls
        if any(
            isinstance(callee, Class)
            or (isinstance(callee, External) and callee.name.startswith(makers))
            for callee in event.callee
        )
        for argument in event.arguments.items
        for number in numbers_in(argument.values)
    )


def numbers_in(values: Values) -> Iterator[int]:
    """The integers among values, also within tuples and lists."""
    for value in values:
        if isinstance(value, Sequence):
            yield from numbers_in(tuple(one for part in value.elements for one in part))
        elif isinstance(value, Constant) and isinstance(value.value, int):
            yield value.value
