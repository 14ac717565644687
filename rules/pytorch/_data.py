"""What the loaders' data is made of, and what all processes take from rank 0 already."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import External, Instance, Value, Values
from transpile.plan.graph import parents
from transpile.plan.model import Plan
from transpile.rules.pytorch._together import agreeing_calls


class Data:
    """What the loaders' data is made of."""

    def __init__(self, plan: Plan) -> None:
        self.reached: set[int] = set()
        pending: list[Value] = []
        for loader in plan.loaders:
            for name in ("dataset", "sampler", "batch_sampler"):
                argument = loader.argument(name)
                if argument is not None:
                    pending.extend(argument.values)
        for backward in plan.backwards:
            for cut in backward.cuts:
                pending.extend((*cut.values, *plan.facts.values_of(cut.node)))
        while pending:
            value = pending.pop()
            if id(value) in self.reached:
                continue
            self.reached.add(id(value))
            if isinstance(value, Instance):
                for values in value.attributes.values():
                    pending.extend(values)
                if value.arguments is not None:
                    for item in value.arguments.items:
                        pending.extend(item.values)
            else:
                for group in parents(value):
                    pending.extend(group)

    def holds(self, values: Values) -> bool:
        """Whether the data is made of one of the values."""
        return any(id(value) in self.reached for value in values)


def calls(plan: Plan) -> Iterator[Event]:
    """The calls of the run, one for each place."""
    seen: set[int] = set()
    for event in plan.facts.events:
        if event.kind == "call" and not event.detached and id(event.node) not in seen:
            seen.add(id(event.node))
            yield event


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
