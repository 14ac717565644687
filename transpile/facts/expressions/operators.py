"""Operators, comparisons and conditions."""

from __future__ import annotations

import libcst as cst

from transpile.facts.events import Branch
from transpile.facts.expressions.asking import UNARY
from transpile.facts.expressions.literals import Literals
from transpile.facts.folding import compare, fold
from transpile.facts.narrowing import asked_kind, narrowed
from transpile.facts.state import truth
from transpile.facts.values import (
    Class,
    Constant,
    Function,
    Instance,
    Mapping,
    Sequence,
    Values,
    join,
    only_constant,
)

#: Objects that are known themselves, and containers whose contents are.
HELD = (Class, Function, Instance, Mapping, Sequence)


class Operators(Literals):
    """The part of the interpreter that knows what operators give."""

    def binary(self, node: cst.BinaryOperation) -> Values:
        """An arithmetic operator."""
        # A long chain leans to the left: walk it without recursion.
        chain: list[cst.BinaryOperation] = [node]
        while isinstance(chain[-1].left, cst.BinaryOperation):
            chain.append(chain[-1].left)
        left = self.evaluate(chain[-1].left)
        for link in reversed(chain):
            left = self.binary_values(link, left, self.evaluate(link.right))
        return left

    def binary_values(self, node: cst.BinaryOperation, left: Values, right: Values) -> Values:
        """The operator of `node` on values."""
        word = type(node.operator).__name__
        first, second = only_constant(left), only_constant(right)
        if first is not None and second is not None:
            folded = fold(word, first.value, second.value)
            if folded is not None:
                return (folded,)
        told = self.operated(word, left, right, node)
        if told is not None:
            return told
        if word == "Add":
            merged = self.concatenate(node, left, right)
            if merged is not None:
                return merged
        return (self.opaque("operation", node, word, (left, right)),)

    def unary(self, node: cst.UnaryOperation) -> Values:
        """Minus, plus, invert, not."""
        values = self.evaluate(node.expression)
        word = type(node.operator).__name__
        constant = only_constant(values)
        if constant is not None:
            if word == "Not":
                return (Constant(not constant.value),)
            if word == "Minus" and isinstance(constant.value, (int, float)):
                return (Constant(-constant.value),)
        if word in UNARY:
            told = self.answers(values, (UNARY[word],), (), node)
            if told != values:
                return told
        else:
            values = join(values, self.truth_told(values, node))
        return (self.opaque("operation", node, word, (values,)),)

    def boolean(self, node: cst.BooleanOperation) -> Values:
        """``and`` and ``or``: the right side runs on one arm only."""
        left = self.evaluate(node.left)
        known = truth(left)
        told = self.truth_told(left, node)
        is_and = isinstance(node.operator, cst.And)
        if known is not None and known is not is_and:
            return left
        before = self.stack
        if known is None:
            self.stack = self.pushed(Branch(node, "right"))
        right = self.evaluate(node.right)
        self.stack = before
        if known is not None:
            return right
        if told:
            left = join(left, told)
        elif not is_and and all(isinstance(v, (Instance, Function, Class)) for v in left):
            return left
        if not is_and and not told:
            given = tuple(value for value in left if truth((value,)) is not False)
            if given and all(isinstance(value, HELD) for value in (*given, *right)):
                # ``callbacks or []``: one or the other, and what either holds.
                return join(given, right)
        return (self.opaque("operation", node, "And" if is_and else "Or", (left, right)),)

    def comparison(self, node: cst.Comparison) -> Values:
        """A chain of comparisons."""
        operands = [self.evaluate(node.left)]
        operands.extend(self.evaluate(target.comparator) for target in node.comparisons)
        words = [type(target.operator).__name__ for target in node.comparisons]
        if len(operands) == 2:
            first, second = only_constant(operands[0]), only_constant(operands[1])
            if first is not None and second is not None:
                folded = compare(words[0], first.value, second.value)
                if folded is not None:
                    return (Constant(folded),)
            if words[0] in ("Is", "IsNot") and second is not None and second.value is None:
                # Objects that are certainly there are not None.
                if operands[0] and all(
                    isinstance(value, (Instance, Function, Class, Sequence, Mapping))
                    for value in operands[0]
                ):
                    return (Constant(words[0] == "IsNot"),)
            told = self.operated(words[0], operands[0], operands[1], node)
            if told is not None:
                return told
        else:
            for place, word in enumerate(words):
                asked = self.ask_operator(word, operands[place], operands[place + 1], node)
                operands[place] = join(operands[place], asked[0] if asked else ())
        return (self.opaque("operation", node, " ".join(words), tuple(operands)),)

    def conditional(self, node: cst.IfExp) -> Values:
        """``a if test else b``."""
        test = self.evaluate(node.test)
        known = truth(test)
        if known is not None:
            return self.evaluate(node.body if known else node.orelse)
        self.record("test", node.test, test)
        before = self.stack
        self.stack = self.pushed(Branch(node, "then"))
        body = self.evaluate(node.body)
        self.stack = (*before, Branch(node, "else"))
        orelse = self.evaluate(node.orelse)
        self.stack = before
        asked = asked_kind(node.test)
        if asked is not None:
            forms, left = (body, orelse) if asked[1] else (orelse, body)
            left = narrowed(left, forms, self.dialect.forms)
            body, orelse = (forms, left) if asked[1] else (left, forms)
        chosen = join(body, orelse)
        self.record("choose", node.test, test, result=chosen)
        return chosen
