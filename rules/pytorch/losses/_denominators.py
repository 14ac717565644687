"""What a loss or number is divided by, taken over all processes."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import Constant, Opaque, Values
from transpile.plan.model import Plan
from transpile.quantity.asking import Kind, analysis
from transpile.quantity.operations import GUARDS
from transpile.records import dataclass
from transpile.rule import Change, Helper
from transpile.rules.pytorch.losses._multiples import (
    needs_parentheses,
    reduced,
    surrounded,
    world_size,
)


@dataclass(frozen=True, eq=False)
class Denominator:
    """A denominator that differs between the processes, as it is rewritten.

    Args:
        module: where it stands.
        tensor: what is reduced.
        guard: the expression that keeps it from zero by a bound, which counts once for all
            processes; None where there is none.
    """

    module: Module
    tensor: cst.BaseExpression
    guard: cst.BaseExpression | None = None


def denominator(plan: Plan, module: Module, node: cst.BaseExpression) -> Denominator | str:
    """How a denominator is rewritten, or why it cannot be."""
    guard: cst.BaseExpression | None = None
    while True:
        made = guarded_name(plan, module, node)
        if made is not None:
            if used_otherwise(plan, made):
                return "it is kept from zero where it is used for something else, too"
            assert isinstance(made.node, cst.Call)
            module, node = made.module, made.node
        bounded = bounded_part(plan, node)
        if bounded is not None:
            guard = guard or node
        inner = bounded or nonzero_part(plan, node)
        if inner is None:
            break
        node = inner
    values = plan.facts.values_of(node)
    if values and not analysis(plan).of(values).tensor:
        return "the denominator is no tensor that could be reduced"
    if is_number_at_times(values):
        return "the denominator is a plain number at times, and a tensor at others"
    return Denominator(module, node, guard)


def is_number_at_times(values: Values) -> bool:
    """Whether one of the values that an expression may have is a number of the script's own."""
    return any(
        (isinstance(value, Constant) and value.value is not None)
        or (
            isinstance(value, Opaque)
            and value.kind == "operation"
            and value.name in ("And", "Or")
            and any(map(is_number_at_times, value.operands))
        )
        for value in values
    )


def guarded_name(plan: Plan, module: Module, node: cst.BaseExpression) -> Opaque | None:
    """What a name stands for, where that is kept from zero by a bound."""
    if not isinstance(node, cst.Name):
        return None
    values = plan.facts.values_of(node)
    value = values[0] if len(values) == 1 else None
    if isinstance(value, Opaque) and isinstance(value.node, cst.Call) and value.module is module:
        if bounded_part(plan, value.node) is not None:
            return value
    return None


def used_otherwise(plan: Plan, value: Opaque) -> bool:
    """Whether a name for the value stands elsewhere than in a denominator."""
    source = value.module.source
    for node in source.nodes_of(cst.Name):
        if value not in plan.facts.values_of(node):
            continue
        parent = source.parent(node)
        if isinstance(parent, cst.BinaryOperation):
            if parent.right is node and isinstance(parent.operator, cst.Divide):
                continue
        if isinstance(parent, cst.AugAssign) and isinstance(parent.operator, cst.DivideAssign):
            if parent.value is node:
                continue
        return True
    return False


def bounded_part(plan: Plan, node: cst.BaseExpression) -> cst.BaseExpression | None:
    """What is kept from zero by ``clamp`` or ``max``."""
    if not isinstance(node, cst.Call):
        return None
    function = node.func
    if isinstance(function, cst.Attribute) and function.attr.value.rstrip("_") in GUARDS:
        quantity = analysis(plan).of(plan.facts.values_of(function.value))
        if quantity.kind is Kind.PART:
            return function.value
        return node.args[0].value if node.args else None
    if isinstance(function, cst.Name) and function.value == "max" and len(node.args) == 2:
        return other_than_number(plan, [argument.value for argument in node.args])
    return None


def nonzero_part(plan: Plan, node: cst.BaseExpression) -> cst.BaseExpression | None:
    """What is kept from zero by a small number that is added."""
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add):
        return other_than_number(plan, [node.left, node.right])
    return None


def averaged(plan: Plan, found: Denominator) -> Iterator[Change]:
    """Average a denominator over the processes; a bound holds for all of them together."""
    quantity = analysis(plan).of(plan.facts.values_of(found.tensor))
    if found.guard is None or quantity.degree == 0:
        # The bound of a mean is the same for all of them.
        yield from reduced(plan, found.module, found.tensor, "reduce_mean")
        return
    yield from reduced(plan, found.module, found.tensor, "reduce_sum")
    yield Helper("get_world_size", found.module)
    before, after = "", f" / {world_size(plan, found.module)}"
    if needs_parentheses(found.module, found.guard):
        before, after = "(", f"{after})"
    yield from surrounded(found.module, found.guard, before, after)


def other_than_number(plan: Plan, nodes: list[cst.BaseExpression]) -> cst.BaseExpression | None:
    """The only expression of several that is no plain number."""
    kept = [
        node
        for node in nodes
        if not all(isinstance(value, Constant) for value in plan.facts.values_of(node))
        or not plan.facts.values_of(node)
    ]
    return kept[0] if len(kept) == 1 and len(nodes) == 2 else None
