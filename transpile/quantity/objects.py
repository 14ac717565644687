"""Objects of the project, of which something is asked that is not followed."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.values import Instance, Mapping, Opaque, Sequence, Value, Values
from transpile.plan.graph import called_names, is_instance_of, parents
from transpile.plan.model import Plan

#: What asks objects for what they hold.
ASKING = frozenset({"item", "element", "operation"})
#: Functions that ask their arguments for what they hold, by the beginning of their names.
ASKING_FUNCTIONS = (
    "builtins.", "collections.", "functools.", "heapq.", "itertools.", "math.", "numpy.",
    "operator.", "statistics.",
)  # fmt: skip
UNFOLLOWED = "it is asked of an object whose class does not say what it gives"


def held_by_objects(plan: Plan, value: Value) -> Values:
    """What the objects hold that a value is asked of; nothing where it is followed."""
    if not isinstance(value, Opaque):
        return ()
    found: list[Value] = []
    for group in asked(value):
        for one in group:
            for each in instances_in(one):
                if not is_instance_of(each, plan.table.module_bases):
                    found.extend(held(each))
    return tuple(found)


def instances_in(value: Value) -> Iterator[Instance]:
    """The object that a value is, or those that a list or dict holds."""
    seen: set[int] = set()
    stack = [value]
    while stack:
        one = stack.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, Instance):
            yield one
        elif isinstance(one, (Sequence, Mapping)):
            stack.extend(inner for group in parents(one) for inner in group)


def asked(value: Opaque) -> Iterator[Values]:
    """What a value is asked of."""
    if value.kind in ASKING and not value.inner:
        yield from value.operands
    elif value.kind == "call":
        # What ``operator.attrgetter`` gives is a function, too.
        makers = [name for callee in value.callee for name in called_names(callee)]
        if any(name.startswith(ASKING_FUNCTIONS) for name in (*called_names(value), *makers)):
            yield from (argument.values for argument in value.arguments.items)


def held(instance: Instance) -> Iterator[Value]:
    """What an object holds, and what the objects in it do."""
    seen: set[int] = set()
    stack: list[Value] = [instance]
    while stack:
        value = stack.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, Instance):
            stack.extend(one for values in value.attributes.values() for one in values)
            continue
        if isinstance(value, Opaque):
            yield value
            continue
        stack.extend(one for group in parents(value) for one in group)
