"""What training puts into arrays by index, of one worker's part of the batches."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import Instance, Mapping, Sequence, Values
from transpile.plan.graph import walk_back
from transpile.plan.model import Plan
from transpile.quantity.contents import is_array, made_within, written
from transpile.quantity.domain import Kind
from transpile.rules.mxnet._roles import updates
from transpile.rules.mxnet.losses._losses import shares
from transpile.rules.mxnet.losses._numbers import in_training


def stored(plan: Plan) -> Iterator[tuple[Event, Values]]:
    """The stores by index, in a training loop, into what was there before it, and what they put.

    Places that samples say are a part of what is put: where a sample goes that another worker has,
    nothing is written.
    """
    loops = {id(one.loop.node) for one in updates(plan) if one.loop is not None}
    training = [
        event
        for event in plan.facts.events
        if not event.detached and any(id(frame.node) in loops for frame in event.loops())
    ]
    made = {id(value) for event in training if event.kind == "call" for value in event.result}
    for event in training:
        if event.kind != "store" or event.name != "[]" or not lasts(plan, event.callee, made):
            continue
        values = (*event.result, *places(plan, event.node))
        if in_training(plan, values):
            yield event, values


def placed(plan: Plan) -> Iterator[tuple[Event, Values]]:
    """The changes, in a training loop, of containers from before it, where samples say what place.

    These are counters, sets and dicts whose methods are given samples (``seen.update(labels)``), as
    well as what is stored under a key that is made of them.
    """
    from transpile.rules.mxnet.losses._followed import made_of_samples

    loops = {id(one.loop.node) for one in updates(plan) if one.loop is not None}
    for event in plan.facts.events:
        if event.detached or not any(id(frame.node) in loops for frame in event.loops()):
            continue
        for cell, by in written(plan, event):
            if not is_array(cell) and not made_within(event, cell, loops):
                if made_of_samples(plan, by):
                    yield event, by


def lasts(plan: Plan, holders: Values, made: set[int]) -> bool:
    """Whether something that is stored to was made before the training loop, of no batch.

    What lists and dicts hold is followed to where it is read.
    """
    return any(
        not isinstance(holder, (Mapping, Sequence))
        and not in_training(plan, (holder,))
        and not any(
            id(value) in made
            for value in walk_back((holder,), lambda each: not isinstance(each, Instance))
        )
        for holder in holders
    )


def places(plan: Plan, node: cst.CSTNode) -> Values:
    """What samples say of where something is put."""
    if not isinstance(node, cst.Subscript):
        return ()
    given: Values = tuple(
        value
        for element in node.slice
        if isinstance(element.slice, cst.Index)
        for value in plan.facts.values_of(element.slice.value)
    )
    return given if shares(plan).of(given).kind is Kind.SAMPLE else ()
