"""What the loaders' data is made of, and what all processes take from rank 0 already."""

from __future__ import annotations

import libcst as cst

from transpile.facts.events import Event, Within
from transpile.facts.values import External, Mapping, Sequence, Value, Values
from transpile.facts.walk import descendants
from transpile.plan.data.made_of import of_loaders, reach
from transpile.plan.model import Plan
from transpile.rules.pytorch.agreement._together import agreeing_calls, agrees


class Data:
    """What the loaders' data is made of.

    Args:
        plan: the plan.
        cuts: what batches are cut out of, and what says where, counts, too.
    """

    def __init__(self, plan: Plan, cuts: bool = True) -> None:
        self.reached: set[int] = set(of_loaders(plan))
        for backward in plan.backwards if cuts else ():
            for cut in backward.cuts:
                self.reach((*cut.values, *plan.facts.values_of(cut.node)))

    def reach(self, values: Values) -> bool:
        """Take in values and what they are made of; whether any of it is new."""
        known = len(self.reached)
        reach(values, self.reached)
        return len(self.reached) > known

    def holds(self, values: Values) -> bool:
        """Whether the data is made of one of the values."""
        return any(id(value) in self.reached for value in values)


def spread(values: Values) -> Values:
    """The elements of sequences, and what is unpacked of opaque results."""
    found: list[Value] = []
    for value in values:
        if isinstance(value, Sequence):
            found.extend(value.every())
        elif isinstance(value, Mapping):
            found.extend(value.every())
    return tuple(found)


def names_called(plan: Plan, node: cst.Call) -> set[str]:
    """The external names that a call may call."""
    return {value.name for value in plan.facts.values_of(node.func) if isinstance(value, External)}


def agreed_nodes(plan: Plan) -> set[int]:
    """The expressions that are given to a function that makes them equal."""
    agreeing = agreeing_calls(plan)
    return {
        id(arg.value)
        for event in plan.facts.events
        if id(event.node) in agreeing and isinstance(event.node, cst.Call)
        for arg in event.node.args
    }


def within_agreement(plan: Plan, event: Event) -> bool:
    """Whether a draw stands in a block that every process enters with the same random state."""
    managers = {
        id(node)
        for frame in event.stack
        if isinstance(frame, Within) and isinstance(frame.node, cst.With)
        for item in frame.node.items
        for node in descendants(item.item)
    }
    return bool(managers) and any(
        id(frame.node) in managers
        for other in plan.facts.calls
        if agrees(other.callee)
        for frame in other.calls()
    )
