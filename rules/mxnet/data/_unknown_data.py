"""What training may draw its batches from, beside the data that is known."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.values import Opaque, Value, Values
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan
from transpile.rules.mxnet._roles import Fit, Update, all_fits, updates
from transpile.rules.mxnet.data._loaders import from_store

#: What goes through its arguments, and what gives numbers or arrays.
KNOWN = ("builtins.", "itertools.", "numpy.", "mxnet.nd.", "mxnet.np.", "random.")


def unknown_sources(plan: Plan) -> Iterator[tuple[Update | Fit, str]]:
    """The trainings that draw from known data, or from something else, and what that is."""
    for update in updates(plan):
        node = update.loop.node if update.loop is not None else None
        if update.loaders and isinstance(node, cst.For):
            values = plan.facts.values_of(node.iter)
            yield from ((update, name) for name in names_behind(plan, values))
    for fit in all_fits(plan):
        argument = fit.argument(fit.data) if fit.data else None
        if argument is not None:
            yield from ((fit, name) for name in names_behind(plan, argument.values))


def names_behind(plan: Plan, values: Values) -> list[str]:
    """The calls of other libraries that some values may come from, where no data is known."""
    made = {id(loader.value) for loader in plan.loaders}
    found: list[str] = []
    seen: set[int] = set()
    pending: list[Value] = list(values)
    while pending:
        value = pending.pop()
        if id(value) in seen | made or not isinstance(value, Opaque):
            continue
        seen.add(id(value))
        if value.kind in ("item", "element", "attribute", "operation"):
            pending.extend(value.operands[0] if value.operands else ())
        elif value.kind == "call" and value.inner:
            pending.extend(value.inner)
        elif value.kind == "call":
            names = called_names(value)
            if any(name.startswith(KNOWN) or name in iterating(plan) for name in names):
                pending.extend(v for each in value.arguments.items for v in each.values)
            elif any(isinstance(callee, Opaque) for callee in value.callee):
                pending.extend(v for c in value.callee for v in getattr(c, "operands", ((),))[0])
            elif names and not leads_to(value, made) and not parted(value):
                found.append(names[0])
    return found


def iterating(plan: Plan) -> frozenset[str]:
    """The functions whose result goes through their first argument."""
    names: frozenset[str] = plan.table.dialect.iterates_argument
    return names


def leads_to(value: Opaque, made: set[int]) -> bool:
    """Whether a call is given known data, which it goes through."""
    given = tuple(v for each in value.arguments.items for v in each.values)
    return any(id(each) in made for each in walk_back(given))


def parted(value: Opaque) -> bool:
    """Whether a call is given the rank of a store, to take its part."""
    return any(from_store(each.values, "rank") for each in value.arguments.items)
