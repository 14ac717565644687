"""What a value is part of, and what a place runs inside of."""

from __future__ import annotations

from transpile.facts.events import Call, Stack, Within
from transpile.facts.values import (
    External,
    Instance,
    Opaque,
    Value,
    Values,
)
from transpile.plan.graph import (
    called_names,
    is_instance_of,
    method_calls,
    origins,
)
from transpile.plan.table import Table

#: What switches gradients on, or may, where they are off.
SWITCHES = frozenset({"enable_grad", "set_grad_enabled"})
#: Methods of layers that give those in them, to be gone over.
GOING_OVER = frozenset(
    {"items", "values", "children", "named_children", "modules", "named_modules", "sublayers"}
)


def enters_part(value: Value) -> bool:
    """Whether a value is a part of what it is made of, such as an element or an attribute."""
    return isinstance(value, Opaque) and (
        value.kind in ("element", "item", "attribute")
        or (value.kind == "operation" and value.name in ("iterate", "enumerate", "zip", "filter"))
    )


def top_module(value: Value, table: Table) -> Value:
    """The whole model that a part belongs to, such as ``model.fc``, or one that it goes over."""
    current = value
    for _ in range(20):
        if not isinstance(current, Opaque):
            return current
        if current.kind in ("attribute", "item"):
            base = origins(current.operands[0])
            listed = base and all(isinstance(one, Opaque) and one.kind == "element" for one in base)
            if listed and gone_over(base[0], table) is None:
                return current
        else:
            held = gone_over(current, table)
            base = (held,) if held is not None else ()
        if len(base) != 1 or not isinstance(base[0], (Opaque, Instance)):
            return current
        if isinstance(base[0], Instance) and not is_instance_of(base[0], table.module_bases):
            return current
        current = base[0]
    return current


def gone_over(value: Value, table: Table) -> Value | None:
    """The layers that a loop goes over where it takes a value out of them; None for others."""
    if not isinstance(value, Opaque) or value.kind != "element":
        return None
    base = origins(value.operands[0])
    for name, receiver in method_calls(base[0]) if len(base) == 1 else ():
        base = origins(receiver) if name in GOING_OVER else ()
    if len(base) != 1:
        return None
    if any(name.startswith(table.layer_packages) for name in called_names(base[0])):
        return base[0]
    return base[0] if is_instance_of(base[0], table.module_bases) else None


def inside_module(stack: Stack, table: Table) -> bool:
    """Whether a place runs inside the code of a model."""
    return any(
        isinstance(frame, Call)
        and any(is_instance_of(value, table.module_bases) for value in frame.receiver)
        for frame in stack
    )


def gradients_off(stack: Stack, table: Table) -> bool:
    """Whether gradients are switched off at a place for sure, by a manager or a decorator."""
    off = False
    for frame in stack:
        entered: tuple[Values, ...] = ()
        if isinstance(frame, Within):
            entered = frame.items
        elif isinstance(frame, Call):
            entered = tuple((v,) for values in frame.function.decorators for v in values)
        for values in entered:
            modes = {_mode(value, table) for value in values}
            if True in modes:
                off = False
            elif modes == {False}:
                off = True
    return off


def _mode(manager: Value, table: Table) -> bool | None:
    """Whether a manager switches gradients on, or may, or off; None where it does neither."""
    names = called_names(manager) + ((manager.name,) if isinstance(manager, External) else ())
    if any(name in table.no_gradient for name in names):
        return False
    return True if any(name.rpartition(".")[2] in SWITCHES for name in names) else None
