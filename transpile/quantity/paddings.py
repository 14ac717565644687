"""Where a script pads what it takes from its data itself, to the longest sample of a batch."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import External, Opaque, Sequence, Value, Values, join
from transpile.plan.data.collation import LONGEST, Padding
from transpile.plan.graph import called_names, method_calls
from transpile.plan.model import Plan

from .analysis import Supposing
from .asking import analysis
from .domain import Kind

LEN = External("builtins.len")
#: Functions that are given the size of what they make, not what is in it.
OF_A_SIZE = frozenset({"zeros", "ones", "empty", "full", "rand", "randn", "randint", "eye"})


def padded_by_hand(plan: Plan, padding: Padding) -> Iterator[Event]:
    """The calls that ask for the longest sample of a share, or pad a list of samples to it.

    Args:
        plan: the plan.
        padding: what the framework calls that which pads.
    """
    asked = None
    for event in plan.facts.reached_calls:
        for value in event.result:
            names = called_names(value)
            by_method = [receiver for name, receiver in method_calls(value) if name == "max"]
            if not isinstance(value, Opaque) or not (any(map(padding.has, names)) or by_method):
                continue
            asked = asked or analysis(plan)
            first = value.arguments.items[0].values if value.arguments.items else ()
            given = join(*by_method) or first
            longest = bool(by_method) or any(name in LONGEST for name in names)
            if longest and (by_length(value) or measures(given)):
                if is_of_samples(asked, given):
                    yield event
            elif not longest and any(map(asked.is_picked_by_samples, given)):
                yield event


def is_of_samples(asked: Supposing, values: Values) -> bool:
    """Whether values are of the samples of a batch."""
    found = asked.of(values)
    return found.kind is Kind.SAMPLE or (found.kind is Kind.UNKNOWN and found.sampled)


def by_length(value: Opaque) -> bool:
    """Whether the largest of several things is the longest: ``max(rows, key=len)``."""
    key = value.arguments.keyword("key")
    return key is not None and LEN in key.values


def measures(values: Values) -> bool:
    """Whether values are lengths, or an array of them: ``len(row) for row in rows``."""
    for value in values:
        listed = [value]
        made = isinstance(value, Opaque) and value.kind == "call" and not is_of_a_size(value)
        if isinstance(value, Opaque) and made and value.arguments.items:
            listed.extend(value.arguments.items[0].values)
        if any(is_length(one) for each in listed for one in entries(each)):
            return True
    return False


def is_of_a_size(value: Opaque) -> bool:
    """Whether a call makes a tensor or an array of the size that it is given."""
    return any(name.rpartition(".")[2] in OF_A_SIZE for name in called_names(value))


def entries(value: Value) -> Values:
    """The entries of a list, or the value itself."""
    return value.every() if isinstance(value, Sequence) else (value,)


def is_length(value: Value) -> bool:
    """Whether a number is the length of something."""
    if not isinstance(value, Opaque):
        return False
    if value.kind == "operation" and value.name == "len":
        return True
    if value.kind != "item" or not isinstance(value.node, cst.Subscript):
        return False
    shape = value.node.value
    return isinstance(shape, cst.Attribute) and shape.attr.value == "shape"
