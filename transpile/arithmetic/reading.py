"""Formulas for what a script says, from the values that the analysis followed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import libcst as cst

from transpile.arithmetic.defaults import Defaults
from transpile.arithmetic.formula import Formula, name, number, operation, unanimous
from transpile.arithmetic.lengths import length_of_value
from transpile.facts.module import Module
from transpile.facts.values import (
    Argument,
    Constant,
    External,
    Opaque,
    Sequence,
    Unknown,
    Value,
    Values,
)
from transpile.plan.model import Plan

if TYPE_CHECKING:
    from transpile.arithmetic.vocabulary import Vocabulary

#: Operators to the words of formulas.
OPERATORS = {
    "Add": "+", "Subtract": "-", "Multiply": "*", "Divide": "/", "FloorDivide": "//",
    "Modulo": "%", "Power": "**",
}  # fmt: skip
#: Functions that only compute, to the words of formulas.
FUNCTIONS = {
    "builtins.int": "int", "builtins.float": "float", "builtins.round": "round",
    "builtins.max": "max", "builtins.min": "min", "builtins.abs": "abs",
    "math.ceil": "ceil", "math.floor": "floor", "math.sqrt": "sqrt",
    "numpy.ceil": "ceil", "numpy.floor": "floor",
}  # fmt: skip
LONGEST_NAME = 60
DEEPEST = 40


class Reader:
    """Reads numbers of a plan.

    Args:
        plan: the plan.
        vocabulary: the framework's words.
        steps_of: the steps of a pass over a loader, for the number of processes in question.
    """

    def __init__(
        self,
        plan: Plan,
        vocabulary: Vocabulary,
        steps_of: Callable[[Value], Formula | None] = lambda value: None,
    ) -> None:
        self.plan = plan
        self.vocabulary = vocabulary
        self.steps_of = steps_of
        self.defaults = Defaults(plan)
        self.depth = 0

    def argument(self, argument: Argument | None, default: Formula | None = None) -> Formula | None:
        """The formula of an argument; `default` where it is not given."""
        if argument is None:
            return default
        found = self.formula(argument.values, argument.node)
        if argument.maybe:
            return name(self.words(argument.node), "it is given on some ways only")
        return found

    def formula(self, values: Values, node: cst.CSTNode | None = None) -> Formula:
        """The formula of a value; a name where it is not known."""
        if self.depth > DEEPEST:
            return name(self.words(node), "it is computed in too many steps to follow")
        self.depth += 1
        try:
            return self.read(values, node)
        finally:
            self.depth -= 1

    def read(self, values: Values, node: cst.CSTNode | None) -> Formula:
        """The formula of alternatives, which must agree."""
        if not values:
            return name(self.words(node), "nothing is known of it")
        found = unanimous(self.of_value(value, node) for value in values)
        if found is not None:
            return found
        return name(
            self.words(node), f"'{self.words(node)}' has one of several values when the script runs"
        )

    def of_value(self, value: Value, node: cst.CSTNode | None) -> Formula:
        """The formula of one value."""
        if isinstance(value, Constant):
            if type(value.value) in (int, float):
                return number(value.value)  # type: ignore[arg-type]
            return name(self.words(node) if node is not None else repr(value.value))
        if isinstance(value, Opaque):
            found = self.of_opaque(value)
            if found is not None:
                return found
            if value.kind == "parameter":
                return name(value.name, not_known(value.name))
            return self.unknown(value.node, value.module)
        reason = value.reason if isinstance(value, Unknown) else ""
        text = self.words(node)
        return name(text, f"'{text}' is not known: {reason}" if reason else not_known(text))

    def of_opaque(self, value: Opaque) -> Formula | None:
        """The formula of a node of the value graph; None where it says nothing."""
        if value.kind == "operation":
            return self.of_operation(value)
        default = self.defaults.of(value)
        if default is not None:
            return default
        if value.kind == "call":
            if value.inner:
                return self.formula(value.inner, value.node)
            words = {FUNCTIONS.get(c.name) for c in value.callee if isinstance(c, External)}
            given = [self.formula(each.values, each.node) for each in value.arguments.items]
            if len(words) == 1 and given and not value.arguments.unknown_because:
                word = words.pop()
                if word is not None and all(each.keyword is None for each in value.arguments.items):
                    return operation(word, *given)
        return None

    def of_operation(self, value: Opaque) -> Formula | None:
        """The formula of an operator, or of ``len``."""
        if value.name == "len" and value.operands:
            return self.length(value.operands[0], operand_node(value))
        if value.name == "Or" and len(value.operands) == 2:
            first = self.formula(value.operands[0])
            return first if first.value else None
        word = OPERATORS.get(value.name)
        if word is not None and len(value.operands) == 2:
            left, right = sides(value.node)
            return operation(
                word, self.formula(value.operands[0], left), self.formula(value.operands[1], right)
            )
        if value.name == "Minus" and len(value.operands) == 1:
            return operation("-", number(0), self.formula(value.operands[0]))
        return None

    # Lengths.

    def length(self, values: Values, node: cst.CSTNode | None) -> Formula:
        """How long something is; ``len(name)`` where that is known when the script runs."""
        found = unanimous(self.length_of(value) for value in values)
        if found is not None:
            return found
        text = self.words(node)
        return name(f"len({text})", f"the length of '{text}' is known when the script runs")

    def length_of(self, value: Value) -> Formula | None:
        """How long one value is; None where it is not known."""
        if self.depth > DEEPEST:
            return None
        self.depth += 1
        try:
            steps = self.steps_of(value)
            return steps if steps is not None else length_of_value(self, value)
        finally:
            self.depth -= 1

    def sequence(self, values: Values) -> list[Formula] | None:
        """The formulas of a list's elements; None where they are not all known to be there."""
        if len(values) != 1:
            return None
        value = values[0]
        if isinstance(value, Sequence) and not value.rest:
            return [self.formula(each) for each in value.elements]
        if isinstance(value, Opaque):
            return self.defaults.list_of(value)
        return None

    # Names.

    def unknown(self, node: cst.CSTNode, module: Module | None = None) -> Formula:
        """A name for what is computed when the script runs."""
        text = self.words(node, module)
        return name(text, not_known(text))

    def words(self, node: cst.CSTNode | None, module: Module | None = None) -> str:
        """An expression on one line, shortened."""
        if node is None:
            return "?"
        modules = [module] if module is not None else list(self.plan.facts.modules.values())
        for each in modules:
            try:
                text = " ".join(each.source.code(node).split())
            except KeyError:
                continue
            return text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 3]}..."
        return "?"


def not_known(text: str) -> str:
    """Why a name has no number."""
    return f"'{text}' is known when the script runs"


def operand_node(value: Opaque) -> cst.CSTNode | None:
    """The argument of a call of ``len``."""
    if isinstance(value.node, cst.Call) and value.node.args:
        return value.node.args[0].value
    return None


def sides(node: cst.CSTNode) -> tuple[cst.CSTNode | None, cst.CSTNode | None]:
    """Both sides of an operator."""
    if isinstance(node, cst.BinaryOperation):
        return node.left, node.right
    return None, None
