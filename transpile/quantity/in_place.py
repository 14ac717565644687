"""Methods of tensors that write into what they are called on."""

from __future__ import annotations

from transpile.facts.events import Event
from transpile.facts.values import Opaque, Value, Values
from transpile.plan.graph import method_calls

#: Methods with an underscore at the end that write no numbers of others into a tensor.
HARMLESS = frozenset({"requires_grad_", "zero_", "detach_", "retain_grad_", "rename_"})


def is_in_place(word: str) -> bool:
    """Whether a method of tensors writes numbers into what it is called on."""
    return word.endswith("_") and not word.endswith("__") and word not in HARMLESS


def receivers_of(values: Values) -> Values:
    """The tensors behind a chain of methods that change them in place, by all of its values."""
    found: list[Value] = []
    for value in values:
        behind = [inner for name, inner in method_calls(value) if name.endswith("_")]
        found.append(value)
        found.extend(receivers_of(behind[0]) if behind else ())
    return tuple(found)


def changed_in_place(event: Event) -> Values:
    """The tensors that a call of a method changes in place."""
    if event.kind != "call":
        return ()
    return tuple(
        value
        for callee in event.callee
        if isinstance(callee, Opaque) and callee.kind == "attribute" and is_in_place(callee.name)
        for value in receivers_of(callee.operands[0])
    )
