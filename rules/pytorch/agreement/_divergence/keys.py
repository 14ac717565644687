"""What answers whether a dict has a key: its keys, whatever stands under them."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import (
    BoundMethod,
    Class,
    External,
    Function,
    Mapping,
    Opaque,
    Value,
    Values,
)
from transpile.plan.flow.conditions import controls_of
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.records import dataclass

from .causes import Place

#: Methods of dicts that neither add keys nor take some away.
READING = frozenset({"get", "keys", "values", "items", "copy"})


@dataclass(frozen=True, eq=False)
class Keys:
    """What the keys of dicts hang on.

    Args:
        values: what keys that are computed may be.
        tests: the conditions on which keys are added.
    """

    values: Values
    tests: tuple[Place, ...]


def keys_asked(plan: Plan, value: Value) -> tuple[Values, Keys] | None:
    """What a question for a key asks for, and the keys of the dicts; None where it is another."""
    if not isinstance(value, Opaque) or value.name not in ("In", "NotIn"):
        return None
    keys = keys_of(plan, value.operands[1])
    return (value.operands[0], keys) if keys is not None else None


def keys_of(plan: Plan, values: Values) -> Keys | None:
    """The keys of dicts to which nothing but assignments in sight adds some."""
    dicts = [value for value in values if isinstance(value, Mapping) and is_plain(value)]
    if (
        not dicts
        or len(dicts) < len(values)
        or any(map(changed_otherwise(plan).__contains__, map(id, dicts)))
    ):
        return None
    stores = [
        event
        for event in plan.facts.events
        if event.kind == "store" and event.name == "[]"
        if any(one is held for one in event.callee for held in dicts)
    ]
    computed = tuple(value for one in dicts for value in one.computed)
    return Keys(computed, tuple(test for event in stores for test in controls_of(event)))


def is_plain(value: Mapping) -> bool:
    """Whether a dict is written out, and no lookup adds to it."""
    if value.owner is not None or value.makes_lists or value.factory:
        return False
    if isinstance(value.node, cst.Dict):
        return all(isinstance(one, cst.DictElement) for one in value.node.elements)
    return isinstance(value.node, cst.Call) and not value.node.args


@query
def changed_otherwise(plan: Plan) -> set[int]:
    """The identities of the dicts of which something else may change the keys."""
    found: set[int] = set()
    for module in plan.facts.modules.values():
        for node in exposed(plan, module):
            found.update(id(one) for one in plan.facts.values_of(node) if isinstance(one, Mapping))
    return found


def exposed(plan: Plan, module: Module) -> Iterator[cst.BaseExpression]:
    """What methods, deletions, updates in place and functions from outside may change."""
    for attribute in module.source.nodes_of(cst.Attribute):
        if attribute.attr.value not in READING:
            yield attribute.value
    for deletion in module.source.nodes_of(cst.Del):
        targets = deletion.target.elements if isinstance(deletion.target, cst.Tuple) else ()
        for target in (deletion.target, *(one.value for one in targets)):
            if isinstance(target, cst.Subscript):
                yield target.value
    for update in module.source.nodes_of(cst.AugAssign):
        yield update.target
    for call in module.source.nodes_of(cst.Call):
        callees = plan.facts.values_of(call.func)
        if not callees or not all(map(is_in_sight, callees)):
            for argument in call.args:
                yield argument.value


def is_in_sight(callee: Value) -> bool:
    """Whether a callee is the project's, or one of Python's own functions."""
    if isinstance(callee, External):
        return callee.name.startswith("builtins.")
    return isinstance(callee, (Function, BoundMethod, Class))
