"""What a model is built of."""

from __future__ import annotations

from transpile.facts.values import (
    Constant,
    External,
    Instance,
    Mapping,
    Opaque,
    Sequence,
    Value,
    Values,
)
from transpile.plan.graph import called_names, method_calls, origin, origins, walk_back
from transpile.plan.model import Model, Plan
from transpile.plan.query import query

#: What makes numbers alone.
PLAIN = ("builtins.", "math.", "random.", "argparse.")


def part_of(plan: Plan, value: Value, model: Model) -> bool:
    """Whether a value is a model or a part or parameter of it."""
    if origin(value) is model.value:
        return True
    parts = parts_of(plan, model)
    return any(id(found) in parts for found in walk_back((value,), leads_to_parts))


def leads_to_parts(value: Value) -> bool:
    """Whether a value may be a part of what it is made of, as no output of a model is."""
    if not isinstance(value, Opaque):
        return False
    if value.kind != "call":
        return True
    methods = all(isinstance(one, Opaque) and one.kind == "attribute" for one in value.callee)
    return methods and not called_names(value)


@query
def parts_of(plan: Plan, model: Model) -> set[int]:
    """The identities of a model and of the objects that it is built of."""
    return {id(value) for value in walk_parts(model.value) if isinstance(value, (Instance, Opaque))}


def walk_parts(value: Value) -> list[Value]:
    """A model and everything that it is built of."""
    found: list[Value] = []
    pending: list[Value] = [value]
    seen: set[int] = set()
    while pending and len(found) < 5000:
        current = pending.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        found.append(current)
        if isinstance(current, Instance):
            pending.extend(v for values in current.attributes.values() for v in values)
        elif isinstance(current, Opaque):
            for argument in current.arguments.items:
                pending.extend(argument.values)
            pending.extend(current.arguments.rest)
        elif isinstance(current, Sequence):
            for group in (*current.elements, current.rest):
                pending.extend(group)
        elif isinstance(current, Mapping):
            for group in (*(entry.values for entry in current.entries.values()), current.rest):
                pending.extend(group)
    return found


def is_plain(values: Values) -> bool:
    """Whether values are made of constants by arithmetic and by numbers of the standard library.

    What a tensor of one element is as a number is one, too.
    """
    for value in walk_back(values, lambda value: not is_number(value)):
        if is_number(value):
            continue
        if isinstance(value, Opaque):
            if value.kind == "call" and not (
                (names := called_names(value)) and all(name.startswith(PLAIN) for name in names)
            ):
                return False
        elif not isinstance(value, (Constant, External)):
            return False
    return bool(values)


def is_number(value: Value) -> bool:
    """Whether a value is what ``item()`` gives."""
    return any(name == "item" for name, _ in method_calls(value))


def inside_others(layers: list[Value]) -> set[int]:
    """The identities of what was made for another layer, such as the parts of a Sequential."""
    found: set[int] = set()
    for layer in layers:
        if isinstance(layer, Opaque):
            given = [value for item in layer.arguments.items for value in item.values]
            for value in (*given, *layer.arguments.rest):
                found.update(id(part) for part in walk_parts(value))
    return found


def part_base(value: Opaque) -> Value | None:
    """The object that a chain of attributes begins at."""
    current: Value = value
    for _ in range(20):
        if not isinstance(current, Opaque) or current.kind not in ("attribute", "item"):
            return current
        base = origins(current.operands[0])
        if len(base) != 1:
            return None
        current = base[0]
    return None
