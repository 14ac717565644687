"""What draws batches from training loaders beside training: other passes, and foreign calls."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event, Loop
from transpile.facts.values import External, Opaque, Value
from transpile.plan.graph import walk_back
from transpile.plan.model import Plan
from transpile.plan.models.learning import reached_by_losses

#: Functions of libraries that draw nothing from a loader, or whose result draws it in the script.
KNOWN = ("builtins.", "tqdm.", "itertools.", "rich.", "copy.", "functools.")
#: Methods that only keep what they are given.
KEEPING = frozenset({"append", "extend", "update", "setdefault", "get", "pop", "add", "insert"})


def passes_for_training(plan: Plan) -> Iterator[Event]:
    """The passes over training loaders, beside training, whose results a loss depends on."""
    loops = [
        {id(frame.node) for frame in backward.event.stack if isinstance(frame, Loop)}
        for backward in plan.backwards
        if not backward.event.detached
    ]
    trains = frozenset[int]().union(*loops)
    drawn = [id(b.batch_loop.node) for b in plan.backwards if b.batch_loop is not None]
    used = reached_by_losses(plan)
    elements = {
        id(value.node)
        for backward in plan.backwards
        for value in walk_back(backward.loss)
        if isinstance(value, Opaque) and value.kind == "element"
    }
    seen: set[int] = set()
    for loader in plan.training_loaders:
        for event in loader.iterations:
            around = {id(frame.node) for frame in event.stack if isinstance(frame, Loop)}
            if event.detached or id(event.node) in seen or id(loop_of(event)) in trains:
                continue
            if event.name in ("iter", "next") or around.intersection(drawn):
                continue
            function = event.function()
            if function is not None and function.is_generator:
                # It hands the batches on to the training.
                continue
            if id(event.node) in elements or stores_for(plan, event, used):
                seen.add(id(event.node))
                yield event


def loop_of(event: Event) -> cst.CSTNode:
    """The loop that an iteration belongs to: the whole of a comprehension, for one part of it."""
    node = event.node
    while isinstance(node, cst.CompFor):
        above = event.module.source.parent(node)
        assert above is not None
        node = above
    return node


def stores_for(plan: Plan, loop: Event, used: set[int]) -> bool:
    """Whether a loop changes in place something that a loss depends on."""
    for event in plan.facts.events:
        if not any(isinstance(frame, Loop) and frame.node is loop.node for frame in event.stack):
            continue
        if event.kind in ("store", "operate"):
            changed = event.callee
        elif event.kind == "call" and is_given_of(event, loop):
            changed = tuple(
                receiver
                for callee in event.callee
                if isinstance(callee, Opaque) and callee.kind == "attribute"
                for receiver in callee.operands[0]
            )
        else:
            continue
        if any(id(value) in used for value in changed):
            return True
    return False


def is_given_of(event: Event, loop: Event) -> bool:
    """Whether a method is called with something that a loop draws."""
    given = tuple(value for argument in event.arguments.items for value in argument.values)
    return any(
        isinstance(value, Opaque) and value.kind == "element" and value.node is loop.node
        for value in walk_back(given)
    )


def handed_out(plan: Plan, known: tuple[str, ...]) -> Iterator[Event]:
    """The calls out of the project that are given a loader of training batches to draw from.

    Args:
        plan: the plan.
        known: packages of the framework whose functions draw nothing, beside those of others.
    """
    known = (*KNOWN, *known)
    loaders = {id(loader.value) for loader in plan.training_loaders}
    iterated = {id(v) for e in plan.facts.iterations for v in e.callee}
    seen: set[int] = set()
    for event in plan.facts.calls:
        if (
            event.detached
            or id(event.node) in seen
            or not any(draws(callee, known) for callee in event.callee)
        ):
            continue
        if any(id(value) in iterated for value in event.result):
            continue
        given = (value for argument in event.arguments.items for value in argument.values)
        if any(id(value) in loaders for value in given):
            seen.add(id(event.node))
            yield event


def draws(callee: Value, known: tuple[str, ...]) -> bool:
    """Whether a call out of the project may draw batches from what it is given."""
    if isinstance(callee, Opaque):
        return callee.kind == "attribute" and callee.name not in KEEPING
    return isinstance(callee, External) and not callee.name.startswith(known)
