"""Arithmetic and comparisons of constants."""

from __future__ import annotations

from typing import Any

from transpile.facts.values import Constant


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
