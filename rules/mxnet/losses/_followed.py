"""What follows from numbers that training reads off one worker's part of its batches."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event, Loop
from transpile.facts.module import Module
from transpile.facts.values import External, Opaque, Value, Values
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.rules.mxnet._roles import can_reduce, receivers_of, updates
from transpile.rules.mxnet.effects._vocabulary import VOCABULARY
from transpile.rules.mxnet.losses._decided import Decided, spread
from transpile.rules.mxnet.losses._numbers import (
    READING,
    holds_data,
    in_training,
    is_batch,
    numbers_of,
)
from transpile.rules.mxnet.losses._settings import settings

#: Functions that make a number of an array.
NUMBERS = frozenset({"builtins.float", "builtins.int", "builtins.bool"})
#: Methods that give the array that a parameter is kept in.
ARRAYS = frozenset({"data", "list_data"})
#: What tells how an array or a batch is made, and nothing of its samples.
SHAPES = frozenset(
    {"shape", "size", "ndim", "dtype", "context", "ctx", "stype", "pad", "bucket_key", "index",
     "provide_data", "provide_label"}
)  # fmt: skip
#: Operations that look at an object, not at what it holds.
LOOKING = frozenset({"len", "isinstance", "index", "Is", "IsNot", "type", "hasattr", "callable"})


def follows_from(plan: Plan, readings: set[int]) -> Decided:
    """What is made of some values, or happens where they say so."""
    found = Decided(plan, readings, False)
    while readings and spread(found):
        pass
    return found


def sinks(plan: Plan) -> Iterator[tuple[Event, Values]]:
    """What sets optimizers or parameters in training, and what it sets them to."""
    yield from settings(plan)
    yield from set_parameters(plan)


def set_parameters(plan: Plan) -> Iterator[tuple[Event, Values]]:
    """The places in training loops that put something into parameters, and what they put."""
    loops = {id(one.loop.node) for one in updates(plan) if one.loop is not None}
    for event in plan.facts.events:
        if event.detached or not any(id(frame.node) in loops for frame in event.loops()):
            continue
        if event.kind == "call" and receivers_of(event, "set_data"):
            yield event, tuple(v for each in event.arguments.items for v in each.values)
        elif event.kind == "store" and event.name == "[]" and any(map(is_parameter, event.callee)):
            yield event, event.result


def is_parameter(value: Value) -> bool:
    """Whether a value is the array of a parameter, as in ``weight.data()``."""
    return (
        isinstance(value, Opaque)
        and value.kind == "call"
        and any(isinstance(one, Opaque) and one.name in ARRAYS for one in value.callee)
    )


def any_sink(plan: Plan, readings: set[int]) -> bool:
    """Whether optimizers, parameters or steps are told something that follows from readings."""
    found = follows_from(plan, readings)
    steps = (one.event for one in updates(plan) if one.trainer is not None)
    return any(follows(found, event, values) for event, values in sinks(plan)) or any(
        follows(found, event, ()) for event in steps
    )


def follows(found: Decided, event: Event, values: Values) -> bool:
    """Whether something follows from what is read: it is made of it, or happens where it says."""
    nodes: list[cst.CSTNode] = [
        each.node for each in event.arguments.items if each.node is not None
    ]
    if event.kind == "store":
        # What is stored by an augmented assignment is told by its statement.
        around = event.module.source.parent(event.node)
        nodes += [node for node in (event.node, around) if isinstance(node, cst.CSTNode)]
    return (
        found.under(event)
        or found.comes_from(values)
        or any(found.follows(event.module, node) for node in nodes)
    )


@query
def of_one_worker(plan: Plan) -> Decided:
    """What follows from what training reads off its batches and no sum or mean explains."""
    known = numbers_of(plan, VOCABULARY).readings if can_reduce(plan) else {}
    return follows_from(
        plan,
        {
            id(value)
            for event in plan.facts.reached_calls
            if in_training(plan, read_by(event))
            for value in event.result
            if not any(id(one) in known for one in walk_back((value,)))
        },
    )


def read_by(event: Event) -> Values:
    """The arrays that a call reads numbers off."""
    if any(isinstance(one, External) and one.name in NUMBERS for one in event.callee):
        return event.arguments.items[0].values if event.arguments.items else ()
    return tuple(value for name in READING for value in receivers_of(event, name))


def set_by_one_worker(plan: Plan) -> Iterator[tuple[Event, bool]]:
    """What is set by one worker's part of a batch, and whether it is an optimizer's."""
    found = of_one_worker(plan)
    for event, values in sinks(plan):
        arrays = event.kind == "store" and event.name == "[]"
        parameters = arrays or bool(receivers_of(event, "set_data"))
        if follows(found, event, values) or (
            parameters and in_training(plan, values) and not explained(plan, values)
        ):
            yield event, not parameters


def explained(plan: Plan, values: Values) -> bool:
    """Whether values are made of numbers that are added up over the workers."""
    done: bool = can_reduce(plan) and numbers_of(plan, VOCABULARY).explain(values)
    return done


def chosen_by_one_worker(plan: Plan) -> Iterator[tuple[Module, cst.BaseExpression]]:
    """The conditions in training loops that each worker answers by its part of the batch."""
    loops = {id(one.loop.node) for one in updates(plan) if one.loop is not None}
    seen: set[int] = set()
    for event in plan.facts.events:
        node = event.node
        if event.kind not in ("test", "choose") or event.detached or id(node) in seen:
            continue
        if not isinstance(node, cst.BaseExpression) or not any(
            isinstance(frame, Loop) and id(frame.node) in loops for frame in event.stack
        ):
            continue
        seen.add(id(node))
        around = event.module.source.parent(node)
        if isinstance(around, (cst.If, cst.While)) and only_tells(plan, around):
            continue
        values = plan.facts.values_of(node)
        if made_of_samples(plan, values) and not explained(plan, values):
            yield event.module, node


def made_of_samples(plan: Plan, values: Values) -> bool:
    """Whether values are made of the samples of training batches, beyond how many they are."""
    return any(
        is_batch(plan, value) and not is_look(value)
        for value in walk_back(values, lambda each: holds_data(each) and not is_look(each))
    )


def is_look(value: Value) -> bool:
    """Whether a value says nothing of samples but how many they are, or what they are kept in."""
    if not isinstance(value, Opaque):
        return False
    if value.kind == "attribute":
        return value.name in SHAPES
    return value.kind == "operation" and value.name in LOOKING


def only_tells(plan: Plan, node: cst.If | cst.While) -> bool:
    """Whether a condition only decides on what is printed or logged, or on an error."""
    return node.orelse is None and all(
        isinstance(small, (cst.Pass, cst.Raise)) or is_told(plan, small)
        for line in node.body.body
        for small in (line.body if isinstance(line, cst.SimpleStatementLine) else (line,))
    )


def is_told(plan: Plan, statement: cst.CSTNode) -> bool:
    """Whether a statement prints or logs."""
    call = statement.value if isinstance(statement, cst.Expr) else None
    if not isinstance(call, cst.Call):
        return False
    callees = plan.facts.values_of(call.func)
    if any(
        isinstance(one, External) and (one.name == "builtins.print" or "logging." in one.name)
        for one in callees
    ):
        return True
    return any(
        isinstance(one, Opaque)
        and any(
            "logging." in name for base in one.operands for v in base for name in called_names(v)
        )
        for one in callees
    )
