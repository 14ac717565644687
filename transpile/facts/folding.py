"""Constants, and the arithmetic and comparisons of them."""

from __future__ import annotations

from typing import Any


class Constant:
    """A literal: a number, string, byte string, bool or None."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Constant)
            and type(self.value) is type(other.value)
            and self.value == other.value
        )

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))

    def __repr__(self) -> str:
        return f"Constant({self.value!r})"


class Settled(Constant):
    """A constant that is one because the run is that of a known process, such as its rank.

    It never equals a literal: where a literal stands in for what a process is only told when it is
    one of several, both are kept, and the settled one counts.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Settled) and super().__eq__(other)

    def __hash__(self) -> int:
        return hash((Settled, type(self.value), self.value))


class WorldSize(Settled):
    """The number of processes, or its text, taken as one of several."""

    __slots__ = ()


def fold(word: str, left: Any, right: Any) -> Constant | None:
    """Arithmetic on small constants."""
    if isinstance(left, str) and isinstance(right, str) and word == "Add":
        return Constant(left + right)
    if not isinstance(left, (int, float)) or not isinstance(right, (int, float)):
        return None
    if abs(left) > 1e12 or abs(right) > 1e12:
        return None
    try:
        if word == "Add":
            return Constant(left + right)
        if word == "Subtract":
            return Constant(left - right)
        if word == "Multiply":
            return Constant(left * right)
        if word == "Divide":
            return Constant(left / right)
        if word == "FloorDivide":
            return Constant(left // right)
        if word == "Modulo":
            return Constant(left % right)
        if word == "Power" and abs(right) <= 32 and abs(left) <= 1000:
            return Constant(left**right)
    except (ArithmeticError, ValueError):
        return None
    return None


def compare(word: str, left: Any, right: Any) -> bool | None:
    """A comparison of constants; None where it is not decided here."""
    try:
        if word == "Equal":
            return bool(left == right)
        if word == "NotEqual":
            return bool(left != right)
        if word == "Is" and (left is None or right is None):
            return left is right
        if word == "IsNot" and (left is None or right is None):
            return left is not right
        if word == "LessThan":
            return bool(left < right)
        if word == "GreaterThan":
            return bool(left > right)
        if word == "LessThanEqual":
            return bool(left <= right)
        if word == "GreaterThanEqual":
            return bool(left >= right)
    except TypeError:
        return None
    return None
