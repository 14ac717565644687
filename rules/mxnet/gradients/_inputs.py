"""What trained networks are given and give, where their calls would be split."""

from __future__ import annotations

from transpile.facts.events import Event, Within
from transpile.facts.values import Constant, Mapping, Opaque, Sequence, Value, Values
from transpile.plan.graph import called_names
from transpile.plan.model import Model

RECORD = "mxnet.autograd.record"
#: Layers that give their states beside their outputs, where they are given states.
RECURRENT = "mxnet.gluon.rnn."


def no_arrays(model: Model) -> str:
    """What of a call in training is no array of a row for each sample; empty where all may be."""
    for event in model.forwards:
        if not is_recorded(event):
            continue
        given = tuple(value for item in event.arguments.items for value in item.values)
        if any(is_no_array(value) for value in given):
            return "is given lists, numbers or nothing beside arrays"
        if any(is_nested(value) for value in event.result):
            return "gives lists of arrays beside arrays"
    return ""


def is_recorded(event: Event) -> bool:
    """Whether gradients are taken of a call."""
    return any(
        RECORD in called_names(manager)
        for frame in event.stack
        if isinstance(frame, Within)
        for manager in frame.managers
    )


def is_no_array(value: Value) -> bool:
    """Whether a value is no array for certain: a list of states is none."""
    if isinstance(value, (Constant, Mapping, Sequence)):
        return True
    return is_states(value) or any(
        isinstance(callee, Opaque) and callee.name == "begin_state"
        for callee in getattr(value, "callee", ())
    )


def is_nested(value: Value) -> bool:
    """Whether one of several outputs is a list itself."""
    if not isinstance(value, Sequence):
        return False
    inner: Values = tuple(each for values in value.elements for each in values)
    return any(isinstance(each, (Sequence, Mapping)) or is_states(each) for each in inner)


def is_states(value: Value) -> bool:
    """Whether a value is the list of states that a recurrent layer gives."""
    return (
        isinstance(value, Opaque)
        and value.kind == "item"
        and value.index == (Constant(1),)
        and any(
            isinstance(base, Opaque)
            and len(base.arguments.items) > 1
            and any(
                name.startswith(RECURRENT)
                for callee in base.callee
                for name in called_names(callee)
            )
            for base in value.operands[0]
        )
    )
