"""What operators give that classes of the project define."""

from __future__ import annotations

import libcst as cst

from transpile.facts.expressions.comprehensions import Comprehensions
from transpile.facts.expressions.descriptors import TRUTH
from transpile.facts.values import Class, Instance, Mapping, Values, join

#: Operators by their words in the syntax tree, and in the names of their methods.
ARITHMETIC = {
    "Add": "add", "Subtract": "sub", "Multiply": "mul", "Divide": "truediv",
    "FloorDivide": "floordiv", "Modulo": "mod", "Power": "pow", "MatrixMultiply": "matmul",
    "LeftShift": "lshift", "RightShift": "rshift", "BitAnd": "and", "BitOr": "or",
    "BitXor": "xor",
}  # fmt: skip
#: Comparisons, with the methods of what is on the left, and of what is on the right.
COMPARISONS = {
    "Equal": (("__eq__",), ("__eq__",)),
    "NotEqual": (("__ne__", "__eq__"), ("__ne__", "__eq__")),
    "LessThan": (("__lt__",), ("__gt__",)),
    "GreaterThan": (("__gt__",), ("__lt__",)),
    "LessThanEqual": (("__le__",), ("__ge__",)),
    "GreaterThanEqual": (("__ge__",), ("__le__",)),
    "In": ((), ("__contains__",)),
    "NotIn": ((), ("__contains__",)),
}  # fmt: skip
UNARY = {"Minus": "__neg__", "Plus": "__pos__", "BitInvert": "__invert__"}
#: What has methods of its own, or may have.
OBJECTS = (Instance, Class)


def methods_of(word: str, in_place: bool = False) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The methods of an operator: of what is on the left, and of what is on the right."""
    if word in COMPARISONS:
        return COMPARISONS[word]
    name = ARITHMETIC.get(word)
    if name is None:
        return (), ()
    own = (f"__i{name}__", f"__{name}__") if in_place else (f"__{name}__",)
    return own, (f"__r{name}__",)


class Asking(Comprehensions):
    """The part of the interpreter that asks objects of the project for what operators give."""

    def ask_operator(
        self, word: str, left: Values, right: Values, node: cst.CSTNode, in_place: bool = False
    ) -> tuple[Values, Values, Values] | None:
        """What the methods of objects give for an operator; None where no object has one.

        Args:
            word: the operator.
            left: what is on its left.
            right: what is on its right.
            node: the operation.
            in_place: it is that of an augmented assignment.

        Returns:
            What they give, and the operands that no method says anything of.
        """
        if not any(isinstance(value, OBJECTS) for value in (*left, *right)):
            return None
        own, reflected = methods_of(word, in_place)
        found: Values = ()
        others = []
        asked = False
        for value in left:
            told = self.ask_first(value, own, (right,), node)
            if told is None:
                others.append(value)
            else:
                found, asked = join(found, told), True
        rest = []
        for value in right if others else ():
            told = self.ask_first(value, reflected, (tuple(others),), node)
            if told is None:
                rest.append(value)
            else:
                found, asked = join(found, told), True
        return (found, tuple(others), tuple(rest)) if asked else None

    def operated(self, word: str, left: Values, right: Values, node: cst.CSTNode) -> Values | None:
        """The values of an operator that some object has a method for; None where none has."""
        asked = self.ask_operator(word, left, right, node)
        if asked is None:
            return None
        found, others, rest = asked
        if others and rest:
            found = join(found, (self.opaque("operation", node, word, (others, rest)),))
        return found

    def truth_told(self, values: Values, node: cst.CSTNode) -> Values:
        """What objects say of whether they are true; nothing of other values."""
        found: Values = ()
        for value in values:
            if isinstance(value, OBJECTS):
                found = join(found, self.ask_first(value, TRUTH, (), node) or ())
        return found

    def as_index(self, base: Values, index: Values, node: cst.CSTNode) -> Values:
        """The numbers in place of objects that say which they are, where a place is asked for."""
        if any(isinstance(value, (*OBJECTS, Mapping)) for value in base):
            return index
        if not any(isinstance(value, Instance) for value in index):
            return index
        return self.answers(index, ("__index__",), (), node)
