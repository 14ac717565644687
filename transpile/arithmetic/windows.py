"""Windows over several batches: tests that hold in every so many rounds of a loop."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.arithmetic.formula import (
    Formula,
    divide_down,
    divide_up,
)
from transpile.arithmetic.reading import Reader
from transpile.facts.events import Branch, Loop
from transpile.facts.walk import descendants
from transpile.records import dataclass


@dataclass(frozen=True, eq=False)
class Window:
    """A test that holds in every so many rounds.

    Args:
        length: the rounds.
        early: it holds in the first round of each window, not the last.
        tail: it holds in the last round of a pass, too.
        per_pass: it begins anew with every pass over the batches.
    """

    length: Formula
    early: bool
    tail: bool
    per_pass: bool

    def steps(self, rounds: Formula) -> Formula:
        """How often it holds in so many rounds."""
        if self.early or self.tail:
            return divide_up(rounds, self.length)
        return divide_down(rounds, self.length)


def window_of(reader: Reader, frame: Branch, loop: Loop) -> Window | None:
    """The window that the test of a branch describes; None where it is another test."""
    if not isinstance(frame.node, cst.If) or frame.arm != "then":
        return None
    parts = list(alternatives(frame.node.test))
    main = [found for part in parts if (found := modulo(part)) is not None]
    if len(main) != 1:
        return None
    counted, by, remainder = main[0]
    others = [part for part in parts if modulo(part) is None]
    if len(others) > 1 or any(not isinstance(part, cst.Comparison) for part in others):
        return None
    counter, ahead = plus_one(counted)
    if not isinstance(counter, (cst.Name, cst.Attribute)):
        return None
    variable = loop.module.source.code(counter)
    per_pass = variable == index_of(loop)
    begun = 0
    if not per_pass:
        placed = counted_up(loop, variable)
        if placed is None:
            return None
        before = loop.module.source.span(frame.node).start
        begun = 1 if loop.module.source.span(placed).start < before else 0
        per_pass = starts_in_pass(loop, variable)
    length = reader.formula(reader.plan.facts.values_of(by), by)
    early = not (ahead or begun)
    if remainder == -1:
        early = False
    return Window(length, early, bool(others), per_pass)


def alternatives(test: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """The sides of ``a or b``."""
    if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.Or):
        yield from alternatives(test.left)
        yield from alternatives(test.right)
    else:
        yield test


def modulo(
    test: cst.BaseExpression,
) -> tuple[cst.BaseExpression, cst.BaseExpression, int] | None:
    """The parts of ``x % k == 0``, ``not x % k`` and ``x % k == k - 1``, with 0, 0 and -1."""
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        return divided(test.expression, 0)
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1:
        return None
    target = test.comparisons[0]
    if not isinstance(target.operator, cst.Equal):
        return None
    found = divided(test.left, 0)
    right = target.comparator
    if found is None:
        return None
    if isinstance(right, cst.Integer) and right.value == "0":
        return found
    if isinstance(right, cst.Integer) and isinstance(found[1], cst.Integer):
        is_last = int(right.value) == int(found[1].value) - 1
        return (found[0], found[1], -1) if is_last else None
    if (
        isinstance(right, cst.BinaryOperation)
        and isinstance(right.operator, cst.Subtract)
        and isinstance(right.right, cst.Integer)
        and right.right.value == "1"
        and right.left.deep_equals(found[1])
    ):
        return found[0], found[1], -1
    return None


def divided(
    node: cst.BaseExpression, remainder: int
) -> tuple[cst.BaseExpression, cst.BaseExpression, int] | None:
    """The parts of ``x % k``."""
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Modulo):
        return node.left, node.right, remainder
    return None


def plus_one(node: cst.BaseExpression) -> tuple[cst.BaseExpression, bool]:
    """What ``x + 1`` adds to, and whether it does."""
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add):
        if isinstance(node.right, cst.Integer) and node.right.value == "1":
            return node.left, True
        if isinstance(node.left, cst.Integer) and node.left.value == "1":
            return node.right, True
    return node, False


def index_of(loop: Loop) -> str:
    """The variable that counts the rounds of a ``for`` from 0."""
    if not isinstance(loop.node, cst.For) or not isinstance(loop.node.iter, cst.Call):
        return ""
    call, target = loop.node.iter, loop.node.target
    function = loop.module.source.code(call.func)
    start = len(call.args) > 1
    if function == "enumerate" and isinstance(target, cst.Tuple) and not start:
        first = target.elements[0].value
        return first.value if isinstance(first, cst.Name) else ""
    if function in ("range", "trange", "tqdm.trange") and isinstance(target, cst.Name):
        return "" if start else target.value
    if call.args and isinstance(call.args[0].value, cst.Call):
        return index_of(Loop(loop.node.with_changes(iter=call.args[0].value), loop.module))
    return ""


def counted_up(loop: Loop, variable: str) -> cst.AugAssign | None:
    """The one line of a loop that adds 1 to a variable."""
    found = [
        node
        for node in descendants(loop.node)
        if isinstance(node, cst.AugAssign) and loop.module.source.code(node.target) == variable
    ]
    if len(found) == 1 and isinstance(found[0].operator, cst.AddAssign):
        if isinstance(found[0].value, cst.Integer) and found[0].value.value == "1":
            return found[0]
    return None


def starts_in_pass(loop: Loop, variable: str) -> bool:
    """Whether a variable is set just before a loop, in the block that the loop stands in."""
    block = loop.module.source.parent(loop.node)
    for line in getattr(block, "body", ()):
        if line is loop.node:
            return False
        for node in descendants(line) if isinstance(line, cst.SimpleStatementLine) else ():
            if isinstance(node, cst.Assign):
                if any(loop.module.source.code(each.target) == variable for each in node.targets):
                    return True
    return False
