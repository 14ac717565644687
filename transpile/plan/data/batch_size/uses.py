"""Where the training step uses the batch size for something else than its loader."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import (
    Argument,
    Constant,
    External,
    Instance,
    Opaque,
    Sequence,
    Value,
    Values,
)
from transpile.plan.data.batch_size.lookalikes import (
    counted,
    is_in_model,
    numbers_like,
    rows_by_name,
    rows_like,
    rows_one_by_one,
)
from transpile.plan.data.batch_size.reads import (
    Use,
    is_named,
    mentions,
    read_at,
    shapes,
)
from transpile.plan.data.written_rows import written_rows
from transpile.plan.flow.places import ancestors, function_of
from transpile.plan.graph import identity, walk_back
from transpile.plan.model import Plan
from transpile.plan.models.holders import trace
from transpile.plan.query import query
from transpile.records import replace

AHEAD = (
    "what is made here ahead of the training has a row for each place in a batch: each process "
    "would pair its samples with other rows"
)
IN_SHAPE = (
    "this shape, which is made elsewhere, has the batch size in it: of the batch a process has its "
    "share alone"
)
#: A call that makes batches in one context, and the size that it is given.
Maker = tuple[Event, Argument | None]


def uses(plan: Plan, argument: Argument, makers: Iterable[Maker]) -> Iterator[Use]:
    """What follows the size of a batch in the training step.

    What leads to the call that takes it for the batch size is divided there, once.

    Args:
        plan: the plan.
        argument: the batch size.
        makers: the calls that take it, or another that stands for it, in each context.
    """
    given = way_to_makers(plan, makers)
    for use in all_uses(plan, argument, given):
        if id(use.node) not in given:
            yield use


def way_to_makers(plan: Plan, makers: Iterable[Maker]) -> set[int]:
    """The expressions through which a batch size comes to the call that makes the batches."""
    return {
        id(holder.read or holder.node)
        for event, own in makers
        if own is not None and own.node is not None
        for holder in trace(plan.facts, event.module, own.node, event.stack)
    }


def all_uses(
    plan: Plan, argument: Argument, given: set[int], before: frozenset[int] = frozenset()
) -> Iterator[Use]:
    """What follows the size of a batch, what leads to the loader included.

    Args:
        plan: the plan.
        argument: the batch size.
        given: the expressions through which it comes to the loader.
        before: the identities of values that are made before batches are, and stay whole.
    """
    # A number is the batch size where it is the very number that the loader was given, not one
    # like it: names lead to the object that the literal became.
    given_as = (Constant, External, Instance, Opaque)
    sources = {identity(value) for value in argument.values if isinstance(value, given_as)}
    if not sources or argument.node is None:
        return
    reached = reached_in_steps(plan)
    if before:
        reached = reached - before
    for event in calls_reached_in_steps(plan):
        if before and not any(id(value) in reached for value in event.result):
            continue
        assert isinstance(event.node, cst.Call)
        yield from rows_like(plan, event, argument.values)
        yield from rows_by_name(plan, event, argument.values, sources)
        yield from rows_one_by_one(plan, event, argument.values, sources)
        if not shapes(plan, event.callee):
            continue
        read = [
            read_at(plan, event, mentioned, given)
            for arg in event.node.args
            for mentioned in mentions(plan, arg.value, sources)
        ]
        # In this call a parameter is the batch size, which may be something else in others.
        read += [
            read_at(plan, event, node, given)
            for node, values in given_numbers(event)
            if values and all(identity(value) in sources for value in values)
        ]
        read += shapes_with(event, sources)
        ahead = bool(read) and is_made_ahead(plan, event)
        for use in read:
            yield replace(use, obstacle=use.obstacle or AHEAD) if ahead else use
        yield from numbers_like(plan, event, argument.values)
    yield from places_in_batches(plan, sources, reached)


@query
def calls_reached_in_steps(plan: Plan) -> list[Event]:
    """The calls that give something of what steps are computed with."""
    reached = reached_in_steps(plan)
    return [
        event
        for event in plan.facts.calls
        if isinstance(event.node, cst.Call) and any(id(value) in reached for value in event.result)
    ]


def is_made_ahead(plan: Plan, event: Event) -> bool:
    """Whether a call makes rows that differ, for the places in a batch, ahead of the training."""
    if plan.in_training(event.stack) or is_in_model(plan, event):
        return False
    shaping = plan.table.shaping
    differ = any(id(value) in written_rows(plan, True) for value in event.result)
    return any(
        isinstance(one, External)
        and one.name in shaping.filled | shaping.made
        and (differ or one.name not in shaping.alike)
        for one in event.callee
    ) or any(
        isinstance(one, Opaque) and one.kind == "attribute" and one.name in shaping.draws
        for one in event.callee
    )


@query
def reached_in_steps(plan: Plan) -> set[int]:
    """The identities of what a backward pass depends on other than as data of a loader.

    A dataset stays whole, though its length may be a multiple of the batch size.
    """
    loaders = {id(loader.value) for loader in plan.training_loaders}

    def enters(value: Value) -> bool:
        return not isinstance(value, Instance) and id(value) not in loaders

    found: set[int] = set()
    pending = [value for backward in plan.backwards for value in backward.loss]
    while pending:
        behind = [one for one in walk_back(tuple(pending), enters) if id(one) not in found]
        found.update(map(id, behind))
        # Of several indices, as in ``x[rows, y]``, the value of the item holds none.
        pending = [
            one
            for value in behind
            if isinstance(value, Opaque) and isinstance(value.node, cst.Subscript)
            for element in (value.node.slice if len(value.node.slice) > 1 else ())
            if isinstance(element.slice, cst.Index)
            for one in plan.facts.values_of(element.slice.value)
            if id(one) not in found
        ]
    return found


def shapes_with(event: Event, sources: set[int | str]) -> Iterator[Use]:
    """The shapes made elsewhere that a call is given, and in which the batch size is a number."""
    spread = spread_in(event)
    for item in event.arguments.items:
        if not isinstance(item.node, cst.BaseExpression):
            continue
        if id(item.node) in spread:
            numbers = [item.values]
        elif isinstance(item.node, (cst.Tuple, cst.List)):
            continue
        else:
            numbers = [
                values
                for held in item.values
                if isinstance(held, Sequence)
                for values in held.elements
            ]
        if any(values and all(identity(one) in sources for one in values) for values in numbers):
            yield Use(event.module, item.node, IN_SHAPE)
            return


def spread_in(event: Event) -> set[int]:
    """The expressions that a call spreads over its arguments, by identity: ``ones(*shape)``."""
    assert isinstance(event.node, cst.Call)
    return {id(arg.value) for arg in event.node.args if arg.star}


def given_numbers(event: Event) -> Iterator[tuple[cst.Name, Values]]:
    """The names that a call is given, also within a tuple or list, with what they are in it."""
    spread = spread_in(event)
    for item in event.arguments.items:
        if isinstance(item.node, cst.Name) and id(item.node) not in spread:
            yield item.node, item.values
        if not isinstance(item.node, (cst.Tuple, cst.List)) or len(item.values) != 1:
            continue
        held = item.values[0]
        if isinstance(held, Sequence) and len(held.elements) == len(item.node.elements):
            for element, values in zip(item.node.elements, held.elements, strict=True):
                if isinstance(element.value, cst.Name):
                    yield element.value, values


@query
def functions_in_training(plan: Plan) -> set[int]:
    """The functions of the project, by identity, in which something happens for each batch."""
    return {
        id(function.node)
        for event in plan.facts.events
        if plan.in_training(event.stack) and (function := event.function()) is not None
    }


def places_in_batches(plan: Plan, sources: set[int | str], reached: set[int]) -> Iterator[Use]:
    """Bounds of slices, offsets of indices and ranges over samples, all by the batch size."""
    loops = {
        id(frame.node)
        for backward in plan.backwards
        for frame in (backward.batch_loop,)
        if frame is not None
    }
    functions = functions_in_training(plan)
    for module in plan.facts.modules.values():
        for node in module.source.nodes_of(cst.Subscript, cst.BinaryOperation, cst.For):
            named = [each for each in counted(node) if is_named(plan, each, sources)]
            if not named:
                continue
            within = [node, *ancestors(module, node)]
            owner = function_of(module, node)
            if not loops.intersection(map(id, within)) and id(owner) not in functions:
                continue
            if not isinstance(node, cst.For) and not any(
                id(value) in reached for value in plan.facts.values_of(node)
            ):
                continue
            for each in named:
                yield Use(module, each)
