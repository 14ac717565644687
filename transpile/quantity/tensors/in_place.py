"""Methods of tensors that write into what they are called on."""

from __future__ import annotations

from transpile.facts.events import Event
from transpile.facts.values import External, Opaque, Value, Values
from transpile.plan.graph import method_calls

#: Methods with an underscore at the end that write no numbers of others into a tensor.
HARMLESS = frozenset({"requires_grad_", "zero_", "detach_", "retain_grad_", "rename_"})


#: Methods without an underscore that do, and functions that write into one of their arguments.
ASSIGNING = frozenset({"set_value"})
INTO = {"assign": ("output", 1)}


def function_word(callee: Value) -> str:
    """The last word of a function outside the project; empty for others."""
    return callee.name.rpartition(".")[2] if isinstance(callee, External) else ""


def is_in_place(word: str) -> bool:
    """Whether a method of tensors writes numbers into what it is called on."""
    if word in ASSIGNING:
        return True
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
    """The tensors that a call changes in place: what a method is called on, or an argument."""
    if event.kind != "call":
        return ()
    into = [
        target.values
        for word in map(function_word, event.callee)
        if word in INTO
        for target in (event.arguments.get(*INTO[word]),)
        if target is not None
    ]
    return tuple(value for values in into for value in values) + tuple(
        value
        for callee in event.callee
        if isinstance(callee, Opaque) and callee.kind == "attribute" and is_in_place(callee.name)
        for value in receivers_of(callee.operands[0])
    )


def written_in(event: Event) -> Values:
    """What stands in a tensor that a call has changed: what it gives, or what it assigns."""
    assigns = any(
        (isinstance(callee, Opaque) and callee.name in ASSIGNING) or function_word(callee) in INTO
        for callee in event.callee
    )
    return event.arguments.items[0].values if assigns and event.arguments.items else event.result
