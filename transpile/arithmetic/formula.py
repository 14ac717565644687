"""Numbers that may not be known before the script runs: formulas over names.

A formula is a number as soon as everything in it is known. What it was read from comes along, so
that whoever shows it can say what is a default and why a name has no number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from transpile.records import dataclass

Number = int | float


@dataclass(frozen=True)
class Formula:
    """A number, a name, or an operation on formulas.

    Args:
        word: ``number``, ``name``, or the operation.
        operands: of the operation.
        value: of a number.
        name: of a name, as the script writes it.
        because: what there is to say about where it comes from.
    """

    word: str
    operands: tuple[Formula, ...] = ()
    value: Number | None = None
    name: str = ""
    because: tuple[str, ...] = ()

    @property
    def is_known(self) -> bool:
        """Whether it is a number."""
        return self.value is not None


def number(value: Number, *because: str) -> Formula:
    """A known number."""
    return Formula("number", value=value, because=because)


def name(text: str, *because: str) -> Formula:
    """Something that is known when the script runs."""
    return Formula("name", name=text, because=because)


def add(left: Formula, right: Formula) -> Formula:
    """``left + right``."""
    return operation("+", left, right)


def subtract(left: Formula, right: Formula) -> Formula:
    """``left - right``."""
    return operation("-", left, right)


def multiply(left: Formula, right: Formula) -> Formula:
    """``left * right``."""
    return operation("*", left, right)


def divide_down(left: Formula, right: Formula) -> Formula:
    """``left // right``."""
    return operation("//", left, right)


def divide_up(left: Formula, right: Formula) -> Formula:
    """The least integer that is not below ``left / right``."""
    return operation("ceil", left, right)


def share(whole: Formula, parts: Formula) -> Formula:
    """A part of something that is divided without a rest; not known where there would be one."""
    return operation("share", whole, parts)


def operation(word: str, *operands: Formula) -> Formula:
    """An operation, carried out as far as its operands are known."""
    because = tuple(dict.fromkeys(one for each in operands for one in each.because))
    values = [each.value for each in operands]
    if all(value is not None for value in values):
        result = compute(word, *values)  # type: ignore[arg-type]
        if result is not None:
            return Formula("number", value=result, because=because)
    short = simplified(word, operands)
    if short is not None:
        return Formula(short.word, short.operands, short.value, short.name, because)
    return Formula(word, operands, because=because)


def compute(word: str, *values: Number) -> Number | None:
    """An operation on numbers; None where it has no result."""
    try:
        result = OPERATIONS[word](*values)
    except (ArithmeticError, ValueError, TypeError):
        return None
    return result if math.isfinite(result) else None


def simplified(word: str, operands: tuple[Formula, ...]) -> Formula | None:
    """The same in fewer words, where there are."""
    if len(operands) != 2:
        return operands[0] if word in ("max", "min") and len(operands) == 1 else None
    left, right = operands
    if word in ("max", "min", "or") and same(left, right):
        return left
    if word in ("*", "/", "//", "ceil") and right.value == 1:
        return left
    if word == "*" and left.value == 1:
        return right
    if word == "*" and 0 in (left.value, right.value):
        return number(0)
    if word in ("+", "-") and right.value == 0:
        return left
    if word == "+" and left.value == 0:
        return right
    if word == "*" and right.word == "share" and same(left, right.operands[1]):
        return right.operands[0]
    # Rounding the same way twice is rounding once, for whole numbers of parts.
    if word in ("//", "ceil") and left.word == word:
        inner, by = left.operands
        if is_count(by) and is_count(right):
            return operation(word, inner, multiply(by, right))
    return None


def is_count(formula: Formula) -> bool:
    """Whether a formula is a positive whole number, or a name for one."""
    if formula.value is not None:
        return isinstance(formula.value, int) and formula.value > 0
    return formula.word in ("name", "share")


def same(left: Formula, right: Formula) -> bool:
    """Whether two formulas say the same, whatever they come from."""
    return text(left) == text(right)


def unanimous(found: Iterable[Formula | None]) -> Formula | None:
    """What several formulas say, where all say the same; None otherwise, or where there is none."""
    every = list(found)
    first = every[0] if every else None
    if first is None:
        return None
    return first if all(each is not None and same(first, each) for each in every) else None


def nearest_multiple(value: int, of: int) -> int:
    """The multiple next to a number, as converted scripts name it."""
    return max(1, round(value / of)) * of


def text(formula: Formula) -> str:
    """The formula as Python would write it; numbers as people do."""
    if formula.value is not None:
        return number_text(formula.value)
    if formula.word == "name":
        return formula.name
    if formula.word == "ceil" and len(formula.operands) == 2:
        left, right = formula.operands
        return f"ceil({operand(left, 2)} / {operand(right, 3)})"
    if formula.word == "share":
        left, right = formula.operands
        return f"{operand(left, 2)} / {operand(right, 3)}"
    if formula.word in PRECEDENCE and len(formula.operands) == 2:
        strength = PRECEDENCE[formula.word]
        left, right = formula.operands
        return f"{operand(left, strength)} {formula.word} {operand(right, strength + 1)}"
    return f"{formula.word}({', '.join(text(each) for each in formula.operands)})"


def operand(formula: Formula, strength: int) -> str:
    """An operand, in brackets where it binds less than what it stands in."""
    written = text(formula)
    weak = formula.value is None and PRECEDENCE.get(formula.word, 9) < strength
    return f"({written})" if weak else written


def number_text(value: Number) -> str:
    """A number without an exponent where it reads well, and without false digits."""
    if isinstance(value, int) or (value.is_integer() and abs(value) < 1e15):
        return str(int(value)) if isinstance(value, int) else f"{value:g}"
    return f"{value:.6g}"


PRECEDENCE = {"or": 0, "share": 2, "+": 1, "-": 1, "*": 2, "/": 2, "//": 2, "%": 2, "**": 4}


def _ceil(left: Number, right: Number = 1) -> int:
    if isinstance(left, int) and isinstance(right, int):
        return -(-left // right)
    return math.ceil(left / right)


def _share(whole: Number, parts: Number) -> Number:
    if whole % parts:
        raise ValueError(f"{whole} is not divisible by {parts}")
    return whole // parts


OPERATIONS: dict[str, Callable[..., Number]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "**": lambda a, b: a ** b if abs(b) <= 64 and abs(a) <= 1e6 else math.inf,
    "ceil": _ceil,
    "or": lambda a, b: a or b,
    "share": _share,
    "int": int,
    "float": float,
    "round": round,
    "floor": math.floor,
    "sqrt": math.sqrt,
    "max": max,
    "min": min,
    "abs": abs,
}
