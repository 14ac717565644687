"""Literals and displays: constants, texts, sequences, dictionaries."""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import Any

import libcst as cst

from transpile.facts.expressions.asking import Asking
from transpile.facts.state import unknown
from transpile.facts.values import Constant, Sequence, Values, join, only_constant


class Literals(Asking):
    """The part of the interpreter that knows what is written out."""

    def string(self, node: cst.SimpleString) -> Values:
        """A string or bytes literal."""
        try:
            return (Constant(literal(node.value)),)
        except (ValueError, SyntaxError):
            return unknown("a string literal that cannot be read")

    def number(self, node: Any) -> Values:
        """An integer, float or imaginary literal."""
        try:
            return (Constant(literal(node.value)),)
        except (ValueError, SyntaxError):
            return unknown("a number that cannot be read")

    def concatenated(self, node: cst.ConcatenatedString) -> Values:
        """Adjacent string literals."""
        left, right = self.evaluate(node.left), self.evaluate(node.right)
        first, second = only_constant(left), only_constant(right)
        if first is not None and second is not None:
            try:
                return (Constant(first.value + second.value),)  # type: ignore[operator]
            except TypeError:
                pass
        return (self.opaque("operation", node, "concatenate", (left, right)),)

    def formatted(self, node: cst.FormattedString) -> Values:
        """An f-string."""
        operands = []
        for part in node.parts:
            if isinstance(part, cst.FormattedStringExpression):
                operands.append(self.evaluate(part.expression))
                for inner in part.format_spec or ():
                    if isinstance(inner, cst.FormattedStringExpression):
                        operands.append(self.evaluate(inner.expression))
        return (self.opaque("operation", node, "format", tuple(operands)),)

    def sequence(self, node: Any) -> Values:
        """A list, tuple or set display."""
        kind = type(node).__name__.lower()
        key = ("sequence", id(node), self.context)
        made = self.nodes.get(key)
        if not isinstance(made, Sequence):
            made = Sequence(kind, node, [])
            self.nodes[key] = made
        elements: list[Values] = []
        rest: Values = ()
        for element in node.elements:
            values = self.evaluate(element.value)
            if isinstance(element, cst.StarredElement):
                spread = self.known_elements(values)
                if spread is not None:
                    elements.extend(spread)
                else:
                    rest = join(rest, self.elements(values, element))
            elif rest:
                rest = join(rest, values)
            else:
                elements.append(values)
        if len(made.elements) == len(elements) and made.elements:
            made.elements = [
                join(new, old) for old, new in zip(made.elements, elements, strict=True)
            ]
        elif not made.elements:
            made.elements = elements
        made.rest = join(made.rest, rest)
        return (made,)

    def dictionary(self, node: cst.Dict) -> Values:
        """A dict display."""
        made = self.new_mapping(node)
        for element in node.elements:
            if isinstance(element, cst.DictElement):
                keys = self.evaluate(element.key)
                values = self.evaluate(element.value)
                self.store_item(made, keys, values, element.value)
            else:
                self.update_mapping(made, self.evaluate(element.value))
        return (made,)


def written_slice(node: cst.Subscript) -> slice | None:
    """The slice between the brackets, where its bounds are numbers that are written there."""
    part = node.slice[0].slice
    if not isinstance(part, cst.Slice):
        return None
    bounds = []
    for bound in (part.lower, part.upper, part.step):
        number = written_number(bound)
        if bound is not None and number is None:
            return None
        bounds.append(number)
    return slice(*bounds) if bounds[2] != 0 else None


def written_number(node: cst.BaseExpression | None) -> int | None:
    """The whole number that stands there, with its sign; None for anything else."""
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus):
        number = written_number(node.expression)
        return None if number is None else -number
    return int(node.value, 0) if isinstance(node, cst.Integer) else None


@lru_cache(maxsize=4096)
def literal(text: str) -> object:
    """What a literal stands for; those of a loop or a function are evaluated many times.

    Raises:
        ValueError, SyntaxError: Python cannot read it.
    """
    if text.isdecimal() and text.isascii() and (len(text) == 1 or text[0] != "0"):
        return int(text)
    if "." in text and text.isascii() and text.replace(".", "", 1).isdecimal():
        return float(text)
    if text[0] in QUOTES and "\\" not in text and "\r" not in text:
        # What most texts are: nothing in them stands for anything else.
        ends = 3 if text[:3] == 3 * text[0] and len(text) > 5 else 1
        return text[ends:-ends]
    found: object = ast.literal_eval(text)
    return found


QUOTES = ("'", '"')
