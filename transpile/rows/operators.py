"""What operators and conditions of a model give."""

from __future__ import annotations

from contextlib import suppress

import libcst as cst

from transpile.facts.folding import compare, fold
from transpile.facts.values import Constant
from transpile.facts.walk import children

from .attributes import Attributes
from .decisions import decide
from .domain import (
    NONE,
    PLAIN,
    Choice,
    Coupled,
    Group,
    Held,
    Known,
    Number,
    Record,
    Unknown,
    choice,
    options,
    problem_of,
)
from .shapes import Impossible

#: Elements after which those of a range are no longer told apart.
MOST_ELEMENTS = 128


class Operators(Attributes):
    """The part of a run that knows operators and conditions."""

    def binary(self, node: cst.BinaryOperation) -> Known:
        """An arithmetic operator."""
        chain: list[cst.BinaryOperation] = [node]
        while isinstance(chain[-1].left, cst.BinaryOperation):
            chain.append(chain[-1].left)
        left = self.evaluate(chain[-1].left)
        for link in reversed(chain):
            self.sites.append((self.module, link))
            left = self.operate(type(link.operator).__name__, left, self.evaluate(link.right))
            self.sites.pop()
        return left

    def operate(self, word: str, left: Known, right: Known) -> Known:
        """An operator on two values."""
        known = self.held(left)
        if word == "Add" and isinstance(known, Group) and isinstance(right, (Coupled, Unknown)):
            # What is known of the first elements stays known.
            return Group(known.elements, choice(right, *([known.rest] if known.rest else [])))

        def one(first: Known, second: Known) -> Known:
            if isinstance(first, Constant) and isinstance(second, Constant):
                folded = fold(word, first.value, second.value)
                return folded if folded is not None else PLAIN
            first, second = self.held(first), self.held(second)
            if isinstance(first, Group) and isinstance(second, Group) and word == "Add":
                if first.rest is None:
                    return Group((*first.elements, *second.elements), second.rest)
                return Group((), choice(*first.elements, first.rest, *second.elements))
            if isinstance(first, Group) and word == "Multiply":
                if isinstance(second, Constant) and isinstance(second.value, int):
                    if len(first.elements) * second.value <= MOST_ELEMENTS and not first.rest:
                        return Group(first.elements * second.value)
                return Group((), choice(*first.elements, *([first.rest] if first.rest else [])))
            return self.library.operator(self, word, (first, second))

        return self.apply(one, left, right)

    def unary(self, node: cst.UnaryOperation) -> Known:
        """Minus, plus, invert, not."""
        value = self.evaluate(node.expression)
        word = type(node.operator).__name__
        if word == "Not":
            known, cause = decide(self, value)
            if known is not None:
                return Constant(not known)
            if cause == "samples":
                return value if problem_of(list(options(value))) else self.coupled_test()
            return Number(counted=cause == "count", drawn=cause == "noise")

        def one(operand: Known) -> Known:
            if isinstance(operand, Constant) and isinstance(operand.value, (int, float)):
                return Constant(-operand.value) if word == "Minus" else operand
            return self.library.operator(self, word, (operand,))

        return self.apply(one, value)

    def coupled_test(self) -> Coupled:
        """A test of the samples' values."""
        return self.coupled("what is done depends on the values of the samples")

    def boolean(self, node: cst.BooleanOperation) -> Known:
        """``and`` and ``or``."""
        left = self.evaluate(node.left)
        is_and = isinstance(node.operator, cst.And)
        known, _ = decide(self, left)
        if known is not None and known is not is_and:
            return left
        if known is None:
            before = self.snapshot()
            self.narrow(node.left, is_and)
            try:
                right = self.evaluate(node.right)
            finally:
                self.frame.names = dict(before.names)
            second, _ = decide(self, right)
            if second is not None and second is not is_and and isinstance(right, Constant):
                # Whatever the left side is, the whole is decided.
                return right if isinstance(right.value, bool) else choice(left, right)
            return choice(left, right)
        return self.evaluate(node.right)

    def comparison(self, node: cst.Comparison) -> Known:
        """A chain of comparisons."""
        found: list[Known] = []
        left = self.evaluate(node.left)
        for target in node.comparisons:
            right = self.evaluate(target.comparator)
            word = type(target.operator).__name__
            found.append(self.compare(word, left, right))
            left = right
        return found[0] if len(found) == 1 else self.library.operator(self, "And", tuple(found))

    def compare(self, word: str, left: Known, right: Known) -> Known:
        """One comparison."""
        if word in ("Is", "IsNot"):
            verdicts = {self.same(one, other) for one in options(left) for other in options(right)}
            if len(verdicts) == 1 and None not in verdicts:
                return Constant(verdicts.pop() is (word == "Is"))
            worst = problem_of([*options(left), *options(right)])
            return worst if worst is not None else PLAIN
        if word in ("In", "NotIn"):
            held = self.held(right)
            if isinstance(left, Constant):
                if isinstance(held, Record) and held.rest is None:
                    return Constant((held.get(left.value) is not None) is (word == "In"))
                if isinstance(held, Group) and held.rest is None:
                    if all(isinstance(one, Constant) for one in held.elements):
                        return Constant((left in held.elements) is (word == "In"))
            return self.coupled_test() if self.sampled(left) or self.sampled(right) else PLAIN

        def one(first: Known, second: Known) -> Known:
            if isinstance(first, Constant) and isinstance(second, Constant):
                folded = compare(word, first.value, second.value)
                return Constant(folded) if folded is not None else PLAIN
            if word in ("Equal", "NotEqual") and NONE in (first, second):
                return Constant(word == "NotEqual")
            return self.library.operator(self, word, (first, second))

        return self.apply(one, left, right)

    def same(self, one: Known, other: Known) -> bool | None:
        """Whether two values are the same object; None if that is not known."""
        if isinstance(one, (Coupled, Unknown)) or isinstance(other, (Coupled, Unknown)):
            return None
        if isinstance(one, Constant) and isinstance(other, Constant):
            return one == other
        if NONE in (one, other):
            value = other if one == NONE else one
            if isinstance(value, Held) and not self.certainly_there(value):
                return None
            return None if isinstance(value, Number) else False
        return None

    def conditional(self, node: cst.IfExp) -> Known:
        """``a if test else b``."""
        test = self.evaluate(node.test)
        known, cause = decide(self, test)
        if known is not None:
            return self.evaluate(node.body if known else node.orelse)
        results: list[Known] = []
        for arm, truth in ((node.body, True), (node.orelse, False)):
            before = dict(self.frame.names)
            self.narrow(node.test, truth)
            with suppress(Impossible):
                results.append(self.evaluate(arm))
            self.frame.names = before
        if not results:
            raise Impossible
        if cause and len(results) == 2:
            problem = self.branching(test, cause)
            if isinstance(problem, Coupled):
                return problem
            return choice(*results, problem)
        return choice(*results)

    def branching(self, test: Known, cause: str) -> Coupled | Unknown:
        """What a branch makes of the values that depend on it."""
        for option in options(test):
            if isinstance(option, (Coupled, Unknown)):
                return option
        words = {
            "samples": "what is done depends on the values of the samples",
            "count": "what is done depends on how many samples there are",
            "noise": "what is done is drawn at random, once for all samples",
        }
        return self.coupled(words[cause], cause)

    def narrow(self, test: cst.CSTNode, truth: bool) -> None:
        """Leave out alternatives of names for which a test would have come out otherwise."""
        for name in names_in(test):
            value = self.frame.names.get(name)
            if not isinstance(value, Choice):
                continue
            kept: list[Known] = []
            for option in value.options:
                self.frame.names[name] = option
                known, _ = decide(self, self.evaluate(test))
                if known is None or known is truth:
                    kept.append(option)
            self.frame.names[name] = choice(*kept) if kept else value


def names_in(node: cst.CSTNode) -> list[str]:
    """The names that an expression reads."""
    found: list[str] = []
    pending: list[cst.CSTNode] = [node]
    while pending:
        one = pending.pop()
        if isinstance(one, cst.Name):
            if one.value not in found:
                found.append(one.value)
        elif isinstance(one, cst.Attribute):
            pending.append(one.value)
        elif not isinstance(one, cst.Lambda):
            pending.extend(children(one))
    return found[:4]
