"""Layers and parameters that come into a model once it is trained."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.events import Event
from transpile.facts.values import (
    Class,
    Constant,
    External,
    Function,
    Instance,
    Mapping,
    Opaque,
    Value,
    Values,
)
from transpile.plan.graph import called_names, method_calls, origin, walk_back
from transpile.plan.known import is_known
from transpile.plan.model import Model, Plan
from transpile.plan.models.parameters import has_parameters
from transpile.plan.models.parts import part_base, part_of, parts_of, walk_parts
from transpile.plan.query import query

#: Methods of layers and of what holds them that put others, or parameters, into them.
GROWING = frozenset(
    {
        "add_module", "append", "extend", "insert", "register_module", "add_sublayer", "update",
        "register_parameter", "add_parameter", "__setattr__", "__setitem__", "set_submodule",
    }
)  # fmt: skip


def late_parts(plan: Plan, model: Model, order: int) -> Iterator[Event]:
    """What puts layers or parameters into a model that goes on to be trained.

    Args:
        plan: the plan.
        model: the model.
        order: the position in the run behind which that is late.
    """
    for event in changes_of_layers(plan):
        if event.order < order or not is_trained_behind(plan, event):
            continue
        changed = changed_by(plan, event)
        if not any(part_of(plan, value, model) for value in changed):
            continue
        if event.kind == "call" and not given(event):
            continue
        if any(
            is_new(plan, model, event, value, order)
            for value in (event.result if event.kind == "store" else given(event))
        ):
            yield event


def empty_parts(plan: Plan, model: Model, order: int) -> Iterator[Event]:
    """What makes layers of a model that have no parameters until its first call.

    Args:
        plan: the plan.
        model: the model.
        order: the position in the run before which it has to be called once.
    """
    lazy = plan.table.quantities.layers.lazy
    if not lazy:
        return
    made = [
        event
        for event in plan.facts.calls
        if any(isinstance(one, External) and one.name.startswith(lazy) for one in event.callee)
    ]
    if not made:
        return
    others = {
        part for other in plan.models if other is not model for part in parts_of(plan, other)
    } - parts_of(plan, model)
    made = [event for event in made if not any(id(value) in others for value in event.result)]
    if made and not any(
        event.order < order and not event.detached and model.value in map(origin, event.callee)
        for event in plan.facts.calls
    ):
        yield from made


@query
def changes_of_layers(plan: Plan) -> list[Event]:
    """The stores and calls that may put something into a layer."""
    return [
        event
        for event in plan.facts.events
        if not event.detached
        and (event.kind == "store" or (event.kind == "call" and changed_by(plan, event)))
    ]


def changed_by(plan: Plan, event: Event) -> Values:
    """What a store or call puts something into."""
    if event.kind == "store":
        return owners_of(plan, event.callee)
    renewing = plan.table.quantities.layers.renewing
    found: list[Value] = []
    for callee in event.callee:
        if isinstance(callee, External) and callee.name in renewing:
            found.extend(given(event)[:1])
        elif isinstance(callee, Opaque) and callee.kind == "attribute" and callee.name in GROWING:
            found.extend(callee.operands[0])
    return owners_of(plan, tuple(found))


def owners_of(plan: Plan, values: Values) -> Values:
    """Values, where they are attributes of an object or a layer that is visited, those instead.

    That is the object itself for ``vars(net)["_modules"]``, and for what ``net.apply(grow)`` calls
    a function with, any layer of ``net``.
    """
    found: list[Value] = []
    for value in values:
        base = part_base(value) if isinstance(value, Opaque) else value
        if isinstance(base, Mapping) and base.owner is not None:
            found.append(base.owner)
        elif isinstance(base, Opaque) and base.kind == "parameter":
            found.extend(visited_layers(plan).get(id(base.node), (value,)))
        else:
            found.append(value)
    return tuple(found)


@query
def visited_layers(plan: Plan) -> dict[int, Values]:
    """The layers whose parts a function is called with, by the identity of the function's node."""
    found: dict[int, Values] = {}
    for event in plan.facts.calls:
        for callee in event.callee:
            if isinstance(callee, Opaque) and callee.kind == "attribute" and callee.name == "apply":
                for value in given(event):
                    if isinstance(value, Function):
                        layers = found.get(id(value.node), ())
                        found[id(value.node)] = (*layers, *callee.operands[0])
    return found


def given(event: Event) -> Values:
    """What a call is given."""
    return tuple(value for item in event.arguments.items for value in item.values)


def is_new(plan: Plan, model: Model, event: Event, value: Value, order: int) -> bool:
    """Whether a value has parameters that the model did not have when it began to be trained."""
    if event.kind == "call" and any(isinstance(callee, External) for callee in event.callee):
        return True
    held = origin(value)
    if may_be_layer(plan, parts_beside(model.value, event), held):
        return True
    if not has_parameters(held, plan, {}):
        return False
    made = making_orders(plan).get(id(held))
    if made is not None and made >= order:
        return True
    return id(held) not in parts_beside(model.value, event)


def may_be_layer(plan: Plan, parts: set[int], value: Value) -> bool:
    """Whether a library that is not known makes something of settings or of layers alone.

    What it makes of tensors is taken to be one.

    Args:
        plan: the plan.
        parts: the identities of what the model is built of otherwise.
        value: what may be a layer.
    """
    names = called_names(value)
    if not isinstance(value, Opaque) or not names or any(is_known(plan, name) for name in names):
        return False
    given = [one for item in value.arguments.items for one in item.values if one is not value]
    return all(
        isinstance(one, (Constant, External, Class))
        or has_parameters(origin(one), plan, {})
        or any(id(found) in parts for found in walk_back((one,), is_access))
        for one in given
    )


def is_access(value: Value) -> bool:
    """Whether a value is taken out of another: an attribute, an entry, or what a method gives."""
    return isinstance(value, Opaque) and (value.kind != "call" or bool(method_calls(value)))


@query
def making_orders(plan: Plan) -> dict[int, int]:
    """Where in the run each object is made, by its identity."""
    found: dict[int, int] = {}
    for event in plan.facts.calls:
        for value in event.result:
            found.setdefault(id(value), event.order)
    return found


def parts_beside(model: Value, event: Event) -> set[int]:
    """The identities of what a model is built of, past what an event puts into it."""
    owners = {id(owner) for owner in event.callee if isinstance(owner, Instance)}
    found: set[int] = set()
    pending = [model]
    while pending:
        current = pending.pop()
        if id(current) in found:
            continue
        found.add(id(current))
        if isinstance(current, Instance):
            for name, values in current.attributes.items():
                if id(current) not in owners or name != event.name:
                    pending.extend(values)
        else:
            inner = walk_parts(current)
            found.update(id(part) for part in inner if not isinstance(part, Instance))
            pending.extend(part for part in inner if isinstance(part, Instance))
    return found


def is_trained_behind(plan: Plan, event: Event) -> bool:
    """Whether a backward pass may follow on an event."""
    loops = {id(loop.node) for loop in event.loops()}
    return any(
        backward.event.order > event.order
        or any(id(loop.node) in loops for loop in backward.event.loops())
        for backward in plan.backwards
        if not backward.event.detached
    )
