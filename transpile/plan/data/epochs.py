"""The number of the epoch, and the names by which the code of an epoch knows it."""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from transpile.facts.events import Call, Event, Loop
from transpile.facts.values import Opaque, Values
from transpile.plan.flow.places import function_of
from transpile.plan.graph import called_names
from transpile.plan.model import Loader, Plan
from transpile.plan.models.holders import bindings, parameters


def epoch_name(plan: Plan, loop: cst.CSTNode) -> str | None:
    """The name of the epoch's number in a loop's head; None where there is none."""
    if not isinstance(loop, cst.For):
        return None
    target: cst.CSTNode = loop.target
    values = plan.facts.values_of(loop.iter)
    counts = any(
        name in ("builtins.range", "tqdm.trange")
        for value in behind_bars(values)
        for name in called_names(value)
    )
    if isinstance(target, cst.Tuple) and any(
        isinstance(value, Opaque) and value.name == "enumerate" for value in values
    ):
        target, counts = target.elements[0].value, True
    if counts and isinstance(target, cst.Name) and not set(target.value) <= {"_"}:
        return target.value
    return None


def behind_bars(values: Values) -> list[Opaque]:
    """The iterables behind progress bars."""
    found: list[Opaque] = []
    pending = list(values)
    while pending:
        value = pending.pop()
        if isinstance(value, Opaque):
            if value.kind == "operation" and value.name == "iterate":
                pending.extend(value.operands[0])
            else:
                found.append(value)
    return found


def is_made_anew(loop: Loop, loaders: Iterable[Loader]) -> bool:
    """Whether a loader is made in every round of a loop, so that it cannot count the rounds."""
    return any(loop in loader.event.stack for loader in loaders)


def name_at(plan: Plan, loop: Loop, event: Event) -> str | None:
    """The name by which the function of an event inside a loop knows the loop's number.

    Args:
        plan: the plan.
        loop: the loop over epochs.
        event: what happens in its rounds, maybe some calls further in.
    """
    name = epoch_name(plan, loop.node)
    if name is None or loop not in event.stack:
        return None
    owner = function_of(loop.module, loop.node)
    here = function_of(event.module, event.node)
    calls = [f for f in event.stack[event.stack.index(loop) + 1 :] if isinstance(f, Call)]
    handed: str | None = name
    for frame in calls:
        handed = handed_to(frame, handed) if handed is not None else None
    if handed is not None:
        return handed
    seen = event.module is loop.module and not hides(event, here, name, until=owner)
    return name if seen else None


def hides(event: Event, function: cst.FunctionDef | None, name: str, until: object) -> bool:
    """Whether a name means something else in a function than it does in one around it."""
    module = event.module
    while function is not None and function is not until:
        if name in parameters(function) or name in bindings(function):
            return True
        function = function_of(module, function)
    return function is not until


def handed_to(frame: Call, name: str) -> str | None:
    """The parameter of a function that a call gives a variable, where it is not bound anew."""
    node, function = frame.node, frame.function.node
    if not isinstance(node, cst.Call) or not isinstance(function, cst.FunctionDef):
        return None
    names = parameters(function)
    if frame.receiver and names:
        names = names[1:]
    for position, argument in enumerate(node.args):
        if argument.star:
            return None
        if isinstance(argument.value, cst.Name) and argument.value.value == name:
            if argument.keyword is not None:
                given: str | None = argument.keyword.value
            else:
                given = names[position] if position < len(names) else None
            if given in names and given not in bindings(function):
                return given
    return None
