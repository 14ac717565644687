"""Finding the backward passes, the data behind their losses and the loops around them."""

from __future__ import annotations

from transpile.facts.events import Event, Loop
from transpile.facts.values import (
    Class,
    External,
    Function,
    Instance,
    Opaque,
    Value,
    Values,
)
from transpile.plan.data.cuts.finding import find_cuts
from transpile.plan.data.foreign_loaders import foreign_loaders, take_in_siblings
from transpile.plan.data.fresh_batches import find_fresh_batches
from transpile.plan.data.streams import find_streams
from transpile.plan.graph import (
    SIZE_OPERATIONS,
    called_names,
    walk_back,
)
from transpile.plan.model import Backward, Loader, Plan
from transpile.plan.models.modes import gradients_switched_off, left_out_by_mode
from transpile.plan.roles.surroundings import gradients_off
from transpile.plan.table import Table


def find_backwards(plan: Plan) -> None:
    """Every backward pass with the loaders, the loop and the epochs that it belongs to."""
    table = plan.table
    happening = {id(value): event for event in plan.facts.calls for value in event.result}
    for event in plan.facts.calls:
        loss = backward_loss(event, table)
        if loss is None or gradients_off(event.stack, table):
            continue
        if left_out_by_mode(plan, event) or gradients_switched_off(plan, event):
            continue
        backward = Backward(event, loss)
        loaders = []
        for loader, wrapped in data_sources(loss, plan):
            loader.training = True
            if wrapped and not loader.wrapped:
                loader.wrapped = wrapped
            loaders.append(loader)
        for loader in foreign_loaders(plan, backward) if not loaders else ():
            loader.training = True
            loaders.append(loader)
        backward.loaders = tuple(loaders)
        place_in_loops(plan, backward)
        if not loaders and not find_streams(plan, backward, happening):
            find_cuts(plan, backward, happening)
            if not plan.loaders:
                find_fresh_batches(plan, backward, happening)
        plan.backwards.append(backward)
    take_in_siblings(plan)


def backward_loss(event: Event, table: Table) -> Values | None:
    """What a call runs backward from; None where it is no backward pass."""
    values: list[Value] = []
    found = False
    for callee in event.callee:
        if isinstance(callee, Opaque) and callee.kind == "attribute":
            if callee.name in table.backward_methods:
                if any(
                    isinstance(v, External) or makes_updates(v, table) for v in callee.operands[0]
                ):
                    continue
                found = True
                # What a loop adds up may be any of several values, such as the number it began as.
                values.extend(callee.operands[0])
        if isinstance(callee, External) and callee.name in table.backward_functions:
            first = event.arguments.get("tensors", 0)
            return first.values if first is not None else ()
    if not found:
        return None
    # A manual optimizer or engine: engine.backward(loss).
    for argument in event.arguments.items:
        if argument.keyword is None:
            values.extend(argument.values)
    return tuple(values)


def makes_updates(value: Value, table: Table) -> bool:
    """Whether a value is an optimizer, whose ``backward`` adds gradients to a static graph."""
    return any(table.is_optimizer(name) for name in called_names(value))


def data_sources(values: Values, plan: Plan) -> list[tuple[Loader, str]]:
    """The loaders whose batches the values depend on, and what wraps them on the way."""
    by_value = {id(loader.value): loader for loader in plan.loaders}
    found: list[tuple[Loader, str]] = []

    def enter(value: Value) -> bool:
        if id(value) in by_value:
            # What its data was made of, such as statistics of another pass, is drawn no more.
            return False
        if isinstance(value, Opaque) and value.kind == "operation":
            return value.name not in SIZE_OPERATIONS or not any(
                id(v) in by_value for group in value.operands for v in group
            )
        return not isinstance(value, (Instance, Function, Class))

    for value in walk_back(values, enter):
        if isinstance(value, Opaque) and value.kind == "element":
            for source in value.operands[0]:
                for behind in walk_back((source,), enters_wrapper):
                    if id(behind) in by_value:
                        loader = by_value[id(behind)]
                        wrapped = "" if behind is source else wrapper_name(source)
                        if not any(loader is other for other, _ in found):
                            found.append((loader, wrapped))
    return found


def enters_wrapper(value: Value) -> bool:
    """Whether a value may hand on the batches of what it was given, as their number cannot."""
    return isinstance(value, Opaque) and value.kind in ("call", "operation") and value.name != "len"


def wrapper_name(value: Value) -> str:
    """How to call what stands between a loader and its loop."""
    names = called_names(value)
    return names[0] if names else "something that cannot be analysed"


def place_in_loops(plan: Plan, backward: Backward) -> None:
    """Find the loop that draws the batches of a backward pass, and the loops around it."""
    loops = [frame for frame in backward.event.stack if isinstance(frame, Loop)]
    iterations = [event for loader in backward.loaders for event in loader.iterations]
    for position in range(len(loops) - 1, -1, -1):
        for event in iterations:
            if event.node is loops[position].node or draws_in(event, loops[position]):
                backward.batch_loop = loops[position]
                backward.epoch_loops = tuple(loops[: passes_begin(plan, backward, event, position)])
                backward.iteration = event
                return


def passes_begin(plan: Plan, backward: Backward, drawn: Event, most: int) -> int:
    """How many of the loops around a backward pass make passes over the data.

    Where ``next()`` draws the batches, a loop within that of ``iter()`` is a part of a pass.
    """
    if drawn.name != "next":
        return most
    sources = {id(loader.value) for loader in backward.loaders}
    loops = [frame for frame in backward.event.stack if isinstance(frame, Loop)]
    depths = [
        sum(loop in loops for loop in event.loops())
        for event in plan.facts.calls
        if any(isinstance(v, External) and v.name == "builtins.iter" for v in event.callee)
        and any(id(v) in sources for item in event.arguments.items for v in item.values)
    ]
    deepest = max(depths, default=0)
    return min(deepest, most) if deepest else most


def draws_in(event: Event, loop: Loop) -> bool:
    """Whether ``next()`` or a comprehension draws a batch directly inside a loop."""
    own = [frame for frame in event.stack if isinstance(frame, Loop)]
    return event.name == "next" and bool(own) and own[-1].node is loop.node
