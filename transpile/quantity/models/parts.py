"""Parts of models that are reached through a container: ``for block in self.blocks``.

Which of the script's classes such a part is of is not followed. It has what any of them keeps.
"""

from __future__ import annotations

import libcst as cst

from transpile.facts.values import Function, Opaque, Value, Values, join
from transpile.facts.walk import returned
from transpile.plan.graph import is_instance_of
from transpile.plan.model import Plan
from transpile.plan.query import query


@query
def kept_by_parts(plan: Plan) -> dict[str, Values]:
    """What objects of the script's module classes keep as attributes, by the attribute's name."""
    found: dict[str, Values] = {}
    for event in plan.facts.stores:
        if event.name != "[]" and any(is_module(plan, base) for base in event.callee):
            found[event.name] = join(found.get(event.name, ()), event.result)
    return found


@query
def given_by_parts(plan: Plan) -> dict[str, Values]:
    """What methods of the script's module classes give, by the method's name.

    Those that a framework calls itself are left to what is known of its layers.
    """
    found: dict[str, Values] = {}
    seen: set[int] = set()
    for event in plan.facts.calls:
        for made in event.result:
            if not is_module(plan, made):
                continue
            for cls in made.cls.ancestry():  # type: ignore[union-attr]
                scope = getattr(cls, "scope", None)
                if scope is None or id(cls) in seen:
                    continue
                seen.add(id(cls))
                for name, values in scope.names.items():
                    if name.startswith("__") or name in plan.table.dialect.dispatched:
                        continue
                    for method in values:
                        found[name] = join(found.get(name, ()), given_by(plan, method))
    return found


def is_module(plan: Plan, value: Value) -> bool:
    """Whether a value is an object of a class of the script that derives from the framework's."""
    return is_instance_of(value, plan.table.module_bases)


def given_by(plan: Plan, method: Value) -> Values:
    """What a method gives back; empty for what is none."""
    if not isinstance(method, Function) or not isinstance(method.node, cst.FunctionDef):
        return ()
    return join(*(plan.facts.values_of(one) for one in returned(method.node)))


def is_part(value: Value) -> bool:
    """Whether a value is taken out of a container of layers, so that it is of no known class."""
    return isinstance(value, Opaque) and value.kind in ("element", "item") and not value.inner


def said_by_parts(plan: Plan, value: Value) -> Values:
    """What an attribute of a part is, or what its method gives; empty if no class tells."""
    if not isinstance(value, Opaque) or value.kind != "attribute":
        return ()
    if not any(map(is_part, value.operands[0])):
        return ()
    return kept_by_parts(plan).get(value.name) or given_by_parts(plan).get(value.name, ())
