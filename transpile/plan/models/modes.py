"""The modes of models, training and evaluation, and what they decide."""

from __future__ import annotations

import libcst as cst

from transpile.facts.events import Branch, Event, Loop
from transpile.facts.values import Constant, External, Opaque, Value, Values
from transpile.plan.graph import origin, origins, walk_back
from transpile.plan.model import Plan
from transpile.plan.models.parts import walk_parts
from transpile.plan.query import query


def left_out_by_mode(plan: Plan, event: Event) -> bool:
    """Whether something only happens in training mode, and the model is in the other one there.

    One function may train and evaluate, and ask the model which of both it is to do.
    """
    return any(
        all(is_against(plan, value, frame.arm == "else", event) for value in tested)
        for frame in event.stack
        if isinstance(frame, Branch) and isinstance(frame.node, cst.If)
        if (tested := plan.facts.values_of(frame.node.test))
    )


def is_against(plan: Plan, value: Value, negated: bool, event: Event) -> bool:
    """Whether a test is certainly false where something happens, or true where it is negated."""
    if not isinstance(value, Opaque):
        return False
    if value.kind == "operation" and value.name == "Not":
        return all(is_against(plan, one, not negated, event) for one in value.operands[0])
    if value.kind == "operation" and value.name == "And" and not negated:
        return any(
            all(is_against(plan, one, negated, event) for one in operand)
            for operand in value.operands
        )
    if value.kind != "attribute" or value.name != "training" or negated:
        return False
    return all(is_in_evaluation(plan, one, event) for one in origins(value.operands[0]))


def is_in_evaluation(plan: Plan, model: Value, event: Event, *, copied: bool = False) -> bool:
    """Whether a model was certainly put into evaluation mode before something happens.

    Args:
        plan: the plan.
        model: the model.
        event: what happens.
        copied: it is a copy, whose parts are not those of what it was made of.
    """
    switches = ((change, changed_to(change, model, copied)) for change in changes(plan))
    return is_switched_off(event, [(change, word == "eval") for change, word in switches if word])


def gradients_switched_off(plan: Plan, event: Event) -> bool:
    """Whether a statement has certainly switched gradients off before something happens."""
    return is_switched_off(event, gradient_switches(plan))


@query
def gradient_switches(plan: Plan) -> list[tuple[Event, bool]]:
    """The statements that switch gradients on or off, and whether they certainly do the latter.

    Within a manager the same call ends with its block.
    """
    named = plan.table.gradient_modes
    return [
        (event, chosen is not None and chosen.values == (Constant(False),))
        for event in plan.facts.calls
        if any(isinstance(callee, External) and callee.name in named for callee in event.callee)
        and not event.detached
        and isinstance(event.module.source.parent(event.node), cst.Expr)
        for chosen in (event.arguments.get("mode", 0),)
    ]


def is_switched_off(event: Event, switches: list[tuple[Event, bool]]) -> bool:
    """Whether the last of several switches before something happens certainly is one to off."""
    around = {frame for frame in event.stack if isinstance(frame, Branch)}
    loops = loops_around(event)
    later: set[int] = set()
    for switch, off in reversed(switches):
        if switch.order > event.order:
            if not off:
                # In the next round of a loop around both it has happened before.
                later |= loops & loops_around(switch)
            continue
        certain = all(frame in around for frame in switch.stack if isinstance(frame, Branch))
        return off and certain and later <= loops_around(switch)
    return False


def loops_around(event: Event) -> set[int]:
    """The loops that something happens in, by the identities of their nodes."""
    return {id(frame.node) for frame in event.stack if isinstance(frame, Loop)}


@query
def changes(plan: Plan) -> list[Event]:
    """The calls that change a mode, in order."""
    return [
        event
        for event in plan.facts.calls
        if not event.detached
        and any(
            isinstance(callee, Opaque) and callee.name in ("eval", "train")
            for callee in event.callee
        )
    ]


def changed_to(event: Event, model: Value, copied: bool = False) -> str | None:
    """The mode that a call gives a model, copied or not; None where it is another one's."""
    for callee in event.callee:
        if not isinstance(callee, Opaque) or callee.name not in ("eval", "train"):
            continue
        mode = event.arguments.get("mode", 0)
        if callee.name == "eval" or (mode is not None and mode.values == (Constant(False),)):
            if any(origin(value) is model for value in callee.operands[0]):
                return "eval"
        elif copied and not any(origin(value) is model for value in callee.operands[0]):
            continue
        elif belongs_to(callee.operands[0], model):
            return "train"
    return None


def belongs_to(values: Values, model: Value) -> bool:
    """Whether a value is a model, a part of it, or taken from it."""
    parts = {id(part) for part in walk_parts(model)}
    return any(
        id(origin(value)) in parts or any(behind is model for behind in walk_back((value,)))
        for value in values
    )
