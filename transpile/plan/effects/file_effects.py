"""Calls that open, read or write a file: by mode, by path, by handle."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.events import Event
from transpile.facts.values import (
    BoundMethod,
    Class,
    Constant,
    External,
    Function,
    Instance,
    Opaque,
    Unknown,
    Value,
    Values,
)
from transpile.plan.effects.effect_names import CONTAINERS, HANDLE_MAKERS, IN_MEMORY, OPENS
from transpile.plan.effects.effects import Kind, Vocabulary
from transpile.plan.graph import called_names


def mode_of(event: Event, position: int, default: str) -> set[str] | None:
    """The modes that a file may be opened with; None where they are not known."""
    argument = event.arguments.get("mode", position)
    if argument is None:
        return None if event.arguments.unknown_because else {default}
    found = set()
    for value in argument.values:
        if not isinstance(value, Constant) or not isinstance(value.value, str):
            return None
        found.add(value.value)
    return found


def open_kind(name: str, event: Event) -> Kind | None:
    """What opening a file does: nothing that matters where it is only read."""
    container = name in CONTAINERS
    read_only = event.arguments.keyword("readonly")
    if container and read_only is not None and read_only.values == (Constant(True),):
        return None
    if is_in_memory(name, event):
        return None
    position, default = CONTAINERS[name] if container else OPENS[name]
    modes = mode_of(event, position, default)
    if modes is None:
        return Kind.MODIFY
    modes = {mode.split(":")[0] for mode in modes}
    if not any(set(mode) & set("wax+c") for mode in modes):
        return None
    if container:
        return Kind.CONTAINER
    if any("r" in mode for mode in modes):
        return Kind.MODIFY
    return Kind.OPEN


def is_in_memory(name: str, event: Event) -> bool:
    """Whether what is opened is no file for certain, wherever its name comes from."""
    keyword, words = IN_MEMORY.get(name, ("", frozenset()))
    named = event.arguments.get(keyword, 0) if words else None
    return (
        named is not None
        and bool(named.values)
        and all(isinstance(value, Constant) and value.value in words for value in named.values)
    )


def path_open_kind(event: Event) -> Kind | None:
    """What ``Path.open`` does."""
    modes = mode_of(event, 0, "r")
    if modes is None:
        return Kind.MODIFY
    if not any(set(mode) & set("wax+") for mode in modes):
        return None
    return Kind.MODIFY if any("r" in mode for mode in modes) else Kind.OPEN


def makers_of(value: Value) -> Iterator[str]:
    """The dotted names of the calls that a value comes from, through attributes and methods."""
    for _ in range(10):
        if not isinstance(value, Opaque):
            return
        if value.kind == "call":
            yield from called_names(value)
            inner = [v for v in value.callee if isinstance(v, Opaque)]
            if not inner:
                return
            value = inner[0]
        elif value.kind in ("attribute", "item", "element") and value.operands:
            if value.kind == "attribute" and value.name in ("handlers", "level", "name"):
                return
            behind = next((v for v in value.operands[0] if isinstance(v, (Opaque, External))), None)
            if isinstance(behind, External):
                yield behind.name
            if not isinstance(behind, Opaque):
                return
            value = behind
        else:
            return


def is_path(value: Value) -> bool:
    """Whether a value is a ``pathlib.Path``, made by joining or by methods of one, too."""
    for _ in range(20):
        if not isinstance(value, Opaque):
            return False
        if value.kind == "operation" and value.name == "Divide":
            operands = value.operands
        elif value.kind == "attribute" and value.name in ("parent", "parents"):
            operands = value.operands
        elif value.kind == "call":
            names = called_names(value)
            if any(name.startswith("pathlib.") for name in names):
                return True
            receivers = [v for v in value.callee if isinstance(v, Opaque) and v.operands]
            operands = receivers[0].operands if receivers else ()
        else:
            return False
        following = [v for group in operands for v in group if isinstance(v, Opaque)]
        if not following:
            return False
        if len(following) > 1:
            return any(is_path(v) for v in following)
        value = following[0]
    return False


def is_handle(value: Value, vocabulary: Vocabulary) -> bool:
    """Whether a value is a file opened for writing, or a writer made on one."""
    if not isinstance(value, Opaque) or value.kind != "call":
        return False
    stand_in = Event("call", value.node, value.module, (), value.callee, value.arguments, (), "", 0)
    for name in called_names(value):
        if name in OPENS or name in CONTAINERS:
            return open_kind(name, stand_in) in (Kind.OPEN, Kind.CONTAINER)
        if name in HANDLE_MAKERS:
            return any(
                is_handle(given, vocabulary)
                for argument in value.arguments.items
                for given in argument.values
            )
    return any(
        isinstance(callee, Opaque)
        and callee.kind == "attribute"
        and callee.name == "open"
        and any(is_path(receiver) for receiver in callee.operands[0])
        and path_open_kind(stand_in) is Kind.OPEN
        for callee in value.callee
    )


def writes_into_handle(event: Event, vocabulary: Vocabulary) -> bool:
    """Whether a writing call is given a file that the project has opened for writing."""
    return any(
        is_handle(value, vocabulary)
        for argument in event.arguments.items
        for value in argument.values
    )


def saves_file(receivers: Values) -> bool:
    """Whether ``save`` of these receivers writes a file: the project's own methods do their own."""
    return not any(
        isinstance(value, (Instance, Class, Function, BoundMethod, Unknown)) for value in receivers
    )
