"""Which values are sets, and what they hold."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.values import Opaque, Sequence, Value, Values
from transpile.plan.graph import method_calls
from transpile.plan.model import Plan

SET_METHODS = frozenset({"union", "intersection", "difference", "symmetric_difference", "copy"})
SET_OPERATIONS = frozenset({"Subtract", "BitOr", "BitAnd", "BitXor"})


def set_parts(node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """The sets that an expression of set operations is made of."""
    if isinstance(node, cst.BinaryOperation):
        yield from set_parts(node.left)
        yield from set_parts(node.right)
    elif (
        isinstance(node, cst.Call)
        and isinstance(node.func, cst.Attribute)
        and node.func.attr.value in SET_METHODS
    ):
        yield from set_parts(node.func.value)
    else:
        yield node


def is_set(plan: Plan, node: cst.BaseExpression) -> bool:
    """Whether an expression is a set."""
    return any(
        isinstance(part, cst.SetComp) or any(map(is_set_value, plan.facts.values_of(part)))
        for part in set_parts(node)
    )


def is_set_value(value: Value, depth: int = 0) -> bool:
    """Whether a value is a set, or what remains of one."""
    if isinstance(getattr(value, "node", None), cst.SetComp):
        return True
    if isinstance(value, Sequence):
        return value.kind == "set"
    if isinstance(value, Opaque) and isinstance(value.node, cst.BinaryOperation):
        if any(isinstance(part, cst.SetComp) for part in set_parts(value.node)):
            return True
    return depth < 8 and any(is_set_value(each, depth + 1) for each in made_of_sets(value))


def made_of_sets(value: Value) -> Values:
    """What an operation of sets takes its elements from, if it is one."""
    if isinstance(value, Opaque) and value.kind == "operation" and value.name in SET_OPERATIONS:
        return value.operands[0]
    return tuple(
        each for name, receiver in method_calls(value) if name in SET_METHODS for each in receiver
    )


def elements_in(value: Value, depth: int = 0) -> Values:
    """The elements of a set, or of what remains of one."""
    if isinstance(value, Sequence):
        return value.every()
    if depth > 8:
        return ()
    return tuple(one for each in made_of_sets(value) for one in elements_in(each, depth + 1))
