"""Batches of training loaders that a script looks at, and does not train on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeGuard

from transpile.facts.events import Event
from transpile.facts.values import Class, Function, Instance, Opaque, Value, Values
from transpile.plan.graph import SIZE_OPERATIONS, walk_back
from transpile.plan.model import Loader, Plan
from transpile.plan.query import query
from transpile.plan.roles.loaders import enters_iterator


def looks(plan: Plan) -> Iterator[tuple[Event, Values]]:
    """The calls of ``iter`` on training loaders that no loss learns of, and what they are given."""
    losses = tuple(value for backward in plan.backwards for value in backward.loss)
    learned = {id(value.node) for value in walk_back(losses, enters) if isinstance(value, Opaque)}
    used: set[int] = set()
    for event in plan.facts.iterations:
        if event.name != "next" or id(event.node) in learned:
            drawn = walk_back(event.callee, enters_iterator)
            used.update(id(value.node) for value in drawn if is_iterator(value))
    for event in plan.facts.iterations:
        if event.name == "iter" and not event.detached and not is_handed_out(event):
            if any(loader_behind(plan, value) is not None for value in event.callee):
                if id(event.node) not in used:
                    yield event, event.callee


def is_handed_out(event: Event) -> bool:
    """Whether an iterator is what an object of the script gives to those who go over it."""
    function = event.function()
    return function is not None and function.name == "__iter__"


@query
def looked_at(plan: Plan) -> set[int]:
    """The identities of the calls of ``next`` that give what is only looked at."""
    iterators = {id(event.node) for event, _ in looks(plan)}
    return {
        id(event.node)
        for event in plan.facts.iterations
        if event.name == "next" and event.callee
        if all(is_iterator(value) and id(value.node) in iterators for value in event.callee)
    }


def is_iterator(value: Value) -> TypeGuard[Opaque]:
    """Whether a value is what ``iter`` gives."""
    return isinstance(value, Opaque) and value.kind == "operation" and value.name == "iterate"


def loader_behind(plan: Plan, value: Value) -> Loader | None:
    """The training loader that a value is; None for anything else."""
    return next((each for each in plan.loaders if each.training and each.value is value), None)


def seen_whole(plan: Plan, values: Values) -> bool:
    """Whether all that values depend on of training batches is only looked at."""
    looked = looked_at(plan)
    if not looked or plan.options.batch_size == "per-device":
        return False
    found = False
    for value in walk_back(values, enters):
        if isinstance(value, Opaque) and value.kind == "element":
            if id(value.node) in looked:
                found = True
            elif any(
                loader_behind(plan, behind) is not None
                for behind in walk_back(value.operands[0], lambda v: isinstance(v, Opaque))
            ):
                return False
    return found


def enters(value: Value) -> bool:
    """Whether what a value is made of may be a batch."""
    if isinstance(value, Opaque) and value.kind == "operation" and value.name in SIZE_OPERATIONS:
        return True
    return not isinstance(value, (Instance, Function, Class))
