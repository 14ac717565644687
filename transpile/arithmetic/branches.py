"""Branches that the options of a script decide, as long as none is given."""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from transpile.arithmetic.reading import Reader
from transpile.facts.events import Branch
from transpile.facts.folding import compare
from transpile.facts.values import Constant, Opaque, Values


def happens(reader: Reader, stack: Iterable[object]) -> bool:
    """Whether a place is reached as long as no option of the script is given."""
    return not any(isinstance(frame, Branch) and taken(reader, frame) is False for frame in stack)


def taken(reader: Reader, frame: Branch) -> bool | None:
    """Whether the arm of an ``if`` is taken where the script's options are at their defaults."""
    if not isinstance(frame.node, cst.If) or frame.arm not in ("then", "else"):
        return None
    holds = truth(reader, reader.plan.facts.values_of(frame.node.test))
    return None if holds is None else holds is (frame.arm == "then")


def truth(reader: Reader, values: Values) -> bool | None:
    """Whether a condition holds by default; None where that is not known."""
    if len(values) != 1:
        return None
    value = values[0]
    if isinstance(value, Constant):
        return bool(value.value)
    if not isinstance(value, Opaque):
        return None
    found = reader.defaults.plain(value)
    if found is not None:
        return bool(found[0])
    if value.kind != "operation":
        return None
    if value.name == "Not":
        inner = truth(reader, value.operands[0])
        return None if inner is None else not inner
    if value.name in ("And", "Or"):
        sides = [truth(reader, side) for side in value.operands]
        decisive = value.name == "Or"
        if decisive in sides:
            return decisive
        return None if None in sides else not decisive
    if len(value.operands) == 2:
        left, right = (reader.formula(side).value for side in value.operands)
        if left is not None and right is not None:
            return compare(value.name, left, right)
    return None
