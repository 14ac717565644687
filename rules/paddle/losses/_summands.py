"""Losses that add a sum over the batch to something that is none, such as a penalty.

Averaged over the processes, the sums of the shares are too small by the number of processes, and
the rest is right. Where the two are added, one of them takes that number: the sum is multiplied by
it, or what is added in place to a sum is divided by it.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.values import Opaque, Values
from transpile.once.shared import surround
from transpile.plan.model import Plan
from transpile.quantity.domain import Duty, Pending
from transpile.rule import Change, In

#: Operators that bind as tightly as the one by the number of processes.
TIGHT = (cst.Multiply, cst.Divide, cst.FloorDivide, cst.Modulo, cst.MatrixMultiply, cst.Power)


def summand(value: Opaque, sum_first: bool) -> Pending | None:
    """The side of an addition that takes a factor, and which; None where it is not in the text."""
    node = value.node
    if isinstance(node, cst.BinaryOperation):
        side = node.left if sum_first else node.right
        return Pending(Duty.FACTOR, side, value.module, factor="*")
    if isinstance(node, cst.AugAssign):
        return Pending(Duty.FACTOR, node.value, value.module, factor="/" if sum_first else "*")
    return None


def sums_beside(plan: Plan, pending: Pending) -> Iterator[Values]:
    """What is the sum in an addition whose one side takes a factor, in each context."""
    parent = pending.module.source.parent(pending.node)
    if isinstance(parent, cst.BinaryOperation):
        for value in plan.facts.values_of(parent):
            if isinstance(value, Opaque) and value.kind == "operation":
                yield value.operands[0 if parent.left is pending.node else 1]
    for event in plan.facts.operations:
        if event.node is parent and not event.detached:
            yield event.callee if pending.factor == "/" else event.result


def factored(plan: Plan, pending: Pending) -> Iterator[Change]:
    """A side of an addition, multiplied or divided by the number of processes."""
    node = pending.node
    assert isinstance(node, cst.BaseExpression)
    dist = plan.names_in(pending.module).imported("paddle.distributed", "dist")
    after = f" {pending.factor} {dist}.get_world_size()"
    opening = "" if binds_itself(node) else "("
    for edit in surround(pending.module, node, opening, f"){after}" if opening else after):
        yield In(pending.module, edit)


def binds_itself(node: cst.BaseExpression) -> bool:
    """Whether a factor can follow an expression without parentheses."""
    if node.lpar:
        return True
    if isinstance(node, cst.BinaryOperation):
        return isinstance(node.operator, TIGHT)
    return isinstance(
        node, (cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.UnaryOperation, cst.BaseNumber)
    )
