"""Layers that carry padding over to what is no padding.

A mask over the loss leaves out what was computed at padded positions. It does not help where a
position that counts was computed from padded ones: by a recurrent network whose last state is
used, or that reads from both ends, and by attention or convolutions that are told of no mask.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from transpile.facts.events import Event
from transpile.facts.values import Constant, External, Opaque, Value
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan
from transpile.records import dataclass, field


@dataclass(frozen=True)
class Readers:
    """What a framework calls layers that look at several positions of a sequence.

    Args:
        recurrent: classes of recurrent layers, each with the parameter for its direction and where
            that stands; None where it always reads from both ends.
        mixing: layers and functions whose outputs come from all positions.
        before: how many positional arguments of a call come before the one that says what is
            padding.
        one_way: values of a direction that read from one end.
        told: names of parameters that say what is padding, or keep positions from later ones.
        packs: functions that make sequences without their padding.
    """

    recurrent: Mapping[str, tuple[str, int] | None] = field(default_factory=dict)
    mixing: frozenset[str] = frozenset()
    before: Mapping[str, int] = field(default_factory=dict)
    one_way: tuple[object, ...] = ()
    told: frozenset[str] = frozenset()
    packs: frozenset[str] = frozenset()


def carries_padding(plan: Plan, readers: Readers) -> bool:
    """Whether a model computes what counts from positions that may be padding."""
    losses = tuple(value for backward in plan.backwards for value in backward.loss)
    behind = list(walk_back(losses))
    return any(
        reads_all(event, layer, name, behind, readers)
        for event in plan.facts.reached_calls
        for layer, name in called(event)
        if not is_told(event, name, readers)
    )


def called(event: Event) -> Iterator[tuple[Value, str]]:
    """The layer or function that a call calls, with the dotted name of its class or of itself."""
    for callee in event.callee:
        if isinstance(callee, External) and callee.name.rpartition(".")[2].islower():
            yield callee, callee.name
        for name in called_names(callee):
            yield callee, name


def is_told(event: Event, name: str, readers: Readers) -> bool:
    """Whether a call is told what is padding, or given sequences without any."""
    before = readers.before.get(name)
    if before is not None and len(event.arguments.positional()) > before:
        return True
    if event.arguments.unknown_because:
        return True
    for item in event.arguments.items:
        if item.keyword in readers.told and any(one != Constant(None) for one in item.values):
            return True
    given = event.arguments.get("input", 0)
    return given is not None and any(
        readers.packs.intersection(called_names(value)) for value in given.values
    )


def reads_all(event: Event, layer: Value, name: str, behind: list[Value], readers: Readers) -> bool:
    """Whether what a call gives to the loss was computed from all positions of a sequence."""
    if name in readers.mixing:
        return True
    if name not in readers.recurrent:
        return False
    if not one_way(layer, name, readers):
        return True
    results = {id(value) for value in event.result}
    return any(
        value.kind != "item" or value.index != (Constant(0),)
        for value in behind
        if isinstance(value, Opaque)
        if any(id(operand) in results for operands in value.operands for operand in operands)
    )


def one_way(layer: Value, name: str, readers: Readers) -> bool:
    """Whether a recurrent layer is known to read from one end alone."""
    direction = readers.recurrent[name]
    if direction is None or not isinstance(layer, Opaque):
        return False
    given = layer.arguments.get(*direction)
    return given is None or all(
        isinstance(value, Constant) and value.value in readers.one_way for value in given.values
    )
