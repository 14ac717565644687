"""Tuples that are put behind each other: ``(loss,) + outputs``."""

from __future__ import annotations

from transpile.facts.values import Opaque, Sequence, Value
from transpile.plan.graph import walk_back


def is_joined(value: Value) -> bool:
    """Whether a value is made of tuples, or of lists, that are put behind each other."""
    if not is_sum(value):
        return False
    return any(
        bool(operand) and all(isinstance(one, Sequence) for one in operand)
        for one in walk_back((value,), is_sum)
        if isinstance(one, Opaque) and is_sum(one)
        for operand in one.operands
    )


def is_sum(value: Value) -> bool:
    """Whether a value is what ``+`` gives."""
    return isinstance(value, Opaque) and value.kind == "operation" and value.name == "Add"
