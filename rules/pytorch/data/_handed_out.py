"""What rank 0 draws for all where it broadcasts the batches."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Loop
from transpile.facts.module import Module
from transpile.facts.values import (
    Generator,
    Instance,
    Mapping,
    Opaque,
    Sequence,
    Value,
    Values,
)
from transpile.facts.walk import descendants
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Backward, Plan
from transpile.plan.query import query
from transpile.records import dataclass


@dataclass(frozen=True, eq=False)
class HandedOut:
    """What only rank 0 makes.

    Args:
        values: the identities of what the loops take from it.
        nodes: the identities of the code that it alone runs for them.
    """

    values: frozenset[int] = frozenset()
    nodes: frozenset[int] = frozenset()


@query
def handed_out(plan: Plan) -> HandedOut:
    """What rank 0 makes for all; nothing where every rank draws its batches itself."""
    if plan.options.batches != "broadcast":
        return HandedOut()
    iterated = iterated_by(plan, {id(node) for _, node in batch_loops(plan)})
    return HandedOut(
        frozenset(id(value) for value in (*iterated, *yielded_by(iterated))),
        frozenset(
            id(node) for one in generators_in(iterated) for node in descendants(one.function.node)
        ),
    )


@query
def batch_loops(plan: Plan) -> list[tuple[Module, cst.For]]:
    """The loops over batches."""
    found: dict[int, tuple[Module, cst.For]] = {}
    for backward in plan.backwards:
        loop = batch_loop(plan, backward)
        if loop is not None and isinstance(loop.node, cst.For) and not backward.event.detached:
            found[id(loop.node)] = (loop.module, loop.node)
    for loader in plan.loaders:
        for event in loader.iterations:
            if isinstance(event.node, cst.For) and not event.detached:
                found[id(event.node)] = (event.module, event.node)
    return list(found.values())


@query
def batch_loop(plan: Plan, backward: Backward) -> Loop | None:
    """The loop that a backward pass has its batches from: a loader's, or any that gives it some."""
    if backward.batch_loop is not None:
        return backward.batch_loop
    behind = list(walk_back(backward.loss, lambda value: not isinstance(value, Instance)))
    reached = {id(value) for value in behind}
    taken = {
        id(source)
        for value in behind
        if isinstance(value, Opaque) and value.kind == "element"
        for source in value.operands[0]
    }
    for loop in reversed([frame for frame in backward.event.stack if isinstance(frame, Loop)]):
        iterated = iterated_by(plan, {id(loop.node)})
        given = [value for value in iterated if "builtins.range" not in called_names(value)]
        if any(id(value) in taken for value in given):
            return loop
        if any(id(value) in reached for value in yielded_by(given)):
            return loop
    return None


def iterated_by(plan: Plan, loops: set[int]) -> list[Value]:
    """What loops go over."""
    return [
        value
        for event in plan.facts.iterations
        if id(event.node) in loops
        for value in event.callee
    ]


def yielded_by(iterated: list[Value]) -> list[Value]:
    """What the generators among it, or within it, yield."""
    return [value for one in generators_in(iterated) for value in held_by(one.yields)]


def generators_in(values: list[Value]) -> list[Generator]:
    """The generators among values, or within them."""
    return [value for value in walk_back(tuple(values)) if isinstance(value, Generator)]


def held_by(values: Values) -> Iterator[Value]:
    """Values, and what containers among them hold."""
    return walk_back(values, lambda value: isinstance(value, (Sequence, Mapping)))
