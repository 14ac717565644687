"""The layers that containers of a library apply one after the other."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.values import Constant, Opaque, Sequence, Value, Values
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.plan.vocabulary import TimeFirst

#: Methods that put layers into a container.
ADDING = frozenset({"add", "append", "extend", "add_sublayer", "register_child"})


def chain(plan: Plan, made: Value) -> Iterator[Value]:
    """The layers of a container, in their order: those that it is made of, then those added."""
    if not isinstance(made, Opaque):
        return
    for argument in made.arguments.items:
        yield from inside(argument.values)
    yield from inside(made.arguments.rest)
    yield from inside(added_layers(plan).get(id(made), ()))


def inside(values: Values) -> Iterator[Value]:
    """Values, and in place of lists what they hold."""
    for value in values:
        if isinstance(value, Sequence):
            for part in (*value.elements, value.rest):
                yield from inside(part)
        else:
            yield value


def is_time_first(made: Value, when: TimeFirst) -> bool:
    """Whether a layer is made so that it takes the first dimension for time, or may be."""
    if not isinstance(made, Opaque):
        return when.otherwise
    given = made.arguments.keyword(when.keyword)
    if given is None:
        return when.otherwise
    return not given.values or any(one == Constant(when.value) for one in given.values)


@query
def added_layers(plan: Plan) -> dict[int, Values]:
    """What is added to each container of layers, by its identity."""
    found: dict[int, list[Value]] = {}
    for event in plan.facts.calls:
        for callee in event.callee:
            if isinstance(callee, Opaque) and callee.kind == "attribute" and callee.name in ADDING:
                for container in callee.operands[0]:
                    for argument in event.arguments.items:
                        found.setdefault(id(container), []).extend(argument.values)
    return {key: tuple(values) for key, values in found.items()}
