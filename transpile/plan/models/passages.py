"""The variables that hold a model on the way to its calls."""

from __future__ import annotations

import libcst as cst

from transpile.facts.events import Event
from transpile.plan.model import Model, Plan
from transpile.plan.models.holders import Holder, trace
from transpile.plan.models.learning import training_forwards
from transpile.plan.query import query
from transpile.records import dataclass

#: What tells one variable from others.
Key = tuple[int, int, str]


@dataclass(frozen=True, eq=False)
class Way:
    """The variables that hold a model on the way to its calls.

    Args:
        forwards: the calls.
        common: those on the way to every call, with the holder of each call.
        order: those on the way to any call; of one call the nearest to it comes first.
    """

    forwards: list[Event]
    common: dict[Key, list[Holder]]
    order: list[Key]

    @property
    def keys(self) -> frozenset[Key]:
        """All variables."""
        return frozenset(self.order)


@query
def way_of(plan: Plan, model: Model) -> Way | None:
    """The variables that hold a model on the way to its calls; None for calls not in the text."""
    forwards = training_forwards(plan, model)
    common: dict[Key, list[Holder]] | None = None
    every: dict[Key, None] = {}
    for event in forwards:
        if not isinstance(event.node, cst.Call):
            return None
        holders = trace(plan.facts, event.module, called(plan, event.node), event.stack)
        keys: dict[Key, list[Holder]] = {}
        for holder in holders:
            # Nearest to the use: later ones of the same variable are its own assignments.
            keys.setdefault(holder.key, [holder])
        every.update(dict.fromkeys(keys))
        if common is None:
            common = keys
        else:
            common = {key: [*common[key], *keys[key]] for key in common if key in keys}
    return Way(forwards, common or {}, list(every))


def called(plan: Plan, node: cst.Call) -> cst.BaseExpression:
    """The expression for the object that a call calls, also by its ``forward``."""
    dispatched = plan.table.dialect.dispatched
    if isinstance(node.func, cst.Attribute) and node.func.attr.value in dispatched:
        return node.func.value
    return node.func
