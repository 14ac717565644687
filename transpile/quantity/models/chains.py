"""The layers that containers of a library apply one after the other."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.expressions.held_parts import PARTS
from transpile.facts.values import Constant, Instance, Mapping, Opaque, Sequence, Value, Values
from transpile.plan.graph import called_names, method_calls
from transpile.plan.model import Plan
from transpile.plan.models.parts import walk_parts
from transpile.plan.query import query
from transpile.plan.vocabulary import TimeFirst

#: Methods that put layers into a container.
ADDING = frozenset({"add", "append", "extend", "add_sublayer", "register_child"})


def chain(plan: Plan, made: Value) -> Iterator[Value]:
    """The layers of a container, in their order: those that it is made of, then those added."""
    if isinstance(made, Instance):
        yield from inside(made.attributes.get(PARTS, ()))
    if not isinstance(made, Opaque):
        return
    for argument in made.arguments.items:
        yield from inside(argument.values)
    yield from inside(made.arguments.rest)
    yield from inside(added_layers(plan).get(id(made), ()))


def may_be(plan: Plan, part: Value) -> Iterator[Value]:
    """The layers that something may be which is taken out of a container, or out of a model.

    Of a container those that it holds; of a model those of the project that it has anywhere, as
    which of its attributes they come from is not followed.
    """
    pending, seen = [part], {id(part)}
    while pending:
        current = pending.pop()
        behind: list[Value] = []
        if isinstance(current, Opaque) and not called_names(current):
            behind.extend(one for values in current.operands[:1] for one in values)
            behind.extend(one for _, receivers in method_calls(current) for one in receivers)
        elif isinstance(current, Opaque):
            yield from chain(plan, current)
        elif isinstance(current, Instance):
            yield from (one for one in walk_parts(current)[1:] if isinstance(one, Instance))
        for one in behind:
            if id(one) not in seen:
                seen.add(id(one))
                pending.append(one)


def inside(values: Values) -> Iterator[Value]:
    """Values, and in place of lists what they hold."""
    for value in values:
        if isinstance(value, Sequence):
            for part in (*value.elements, value.rest):
                yield from inside(part)
        elif isinstance(value, Mapping):
            for part in (*(entry.values for entry in value.entries.values()), value.rest):
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
    """What is added to each container of layers, or set in it, by its identity."""
    found: dict[int, list[Value]] = {}
    for event in plan.facts.calls:
        for callee in event.callee:
            if isinstance(callee, Opaque) and callee.kind == "attribute" and callee.name in ADDING:
                for container in callee.operands[0]:
                    for argument in event.arguments.items:
                        found.setdefault(id(container), []).extend(argument.values)
    for event in plan.facts.stores:
        for container in event.callee if event.name == "[]" else ():
            found.setdefault(id(container), []).extend(event.result)
    return {key: tuple(values) for key, values in found.items()}
