"""Means over something else than samples, and what makes them those of the global batch.

Each process divides by a number of its own: of targets that are not left out, of the weights of
its classes, of what its mask lets through. Averaging over the processes gives the mean over the
global batch once every process divides by the average of these numbers.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import Constant, only_constant
from transpile.layout import wrap_expression
from transpile.once.shared import surround
from transpile.plan.graph import is_instance_of, walk_back
from transpile.plan.model import Plan
from transpile.quantity.domain import Duty, Pending
from transpile.records import dataclass
from transpile.rule import Change, Helper, In

#: Methods and functions that give the same data in another shape or type, and do nothing else.
PURE = frozenset(
    {
        "reshape", "flatten", "squeeze", "unsqueeze", "astype", "cast", "transpose", "view",
        "detach", "paddle.reshape", "paddle.flatten", "paddle.squeeze", "paddle.unsqueeze",
        "paddle.cast", "paddle.transpose",
    }
)  # fmt: skip
GUARDS = frozenset({"clip", "clamp", "maximum"})
#: A number below this only keeps a denominator from zero.
TINY = 1e-3


@dataclass(frozen=True, eq=False)
class Parts:
    """A denominator as it is rewritten: what is reduced, and the bound around it, if any."""

    reduced: cst.BaseExpression
    guard: cst.BaseExpression | None


def parts_of(plan: Plan, node: cst.BaseExpression) -> Parts:
    """What is reduced of a denominator: small numbers that are added, and bounds, stay outside."""
    guard: cst.BaseExpression | None = None
    while True:
        inner: cst.BaseExpression | None = None
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add):
            if is_tiny(plan, node.right):
                inner = node.left
            elif is_tiny(plan, node.left):
                inner = node.right
        elif isinstance(node, cst.Call):
            inner = bounded(plan, node)
            guard = guard or (node if inner is not None else None)
        if inner is None:
            return Parts(node, guard)
        node = inner


def is_tiny(plan: Plan, node: cst.BaseExpression) -> bool:
    """Whether an expression is a number that only keeps a denominator from zero."""
    constant = only_constant(plan.facts.values_of(node))
    return (
        constant is not None
        and isinstance(constant.value, (int, float))
        and 0 <= constant.value <= TINY
    )


def bounded(plan: Plan, call: cst.Call) -> cst.BaseExpression | None:
    """What ``x.clip(min=1)``, ``paddle.clip(x, 1)`` or ``max(x, 1)`` keeps from zero."""
    function = call.func
    if isinstance(function, cst.Name) and function.value == "max" and len(call.args) == 2:
        numbers = [arg.value for arg in call.args if is_number(plan, arg.value)]
        others = [arg.value for arg in call.args if not is_number(plan, arg.value)]
        return others[0] if len(numbers) == len(others) == 1 else None
    if not isinstance(function, cst.Attribute) or function.attr.value not in GUARDS:
        return None
    if any(not is_number(plan, arg.value) for arg in call.args[1:]):
        return None
    if call.args and is_number(plan, call.args[0].value):
        return function.value
    return call.args[0].value if call.args and call.args[0].keyword is None else None


def is_number(plan: Plan, node: cst.BaseExpression) -> bool:
    """Whether an expression is a plain number."""
    values = plan.facts.values_of(node)
    return bool(values) and all(
        isinstance(value, Constant) and isinstance(value.value, (int, float)) for value in values
    )


def obstacle(plan: Plan, pending: Pending) -> str:
    """Why a place cannot be rewritten; empty where it can."""
    if not isinstance(pending.node, cst.BaseExpression):
        return "its denominator has no place in the text"
    if pending.duty is Duty.MEAN:
        return "how many samples it is a mean over differs, too"
    loss = pending.loss
    if loss is None:
        values = plan.facts.values_of(parts_of(plan, pending.node).reduced)
        if any(is_instance_of(v, plan.table.module_bases) for v in walk_back(values)):
            return "gradients run through its denominator"
        return ""
    assert isinstance(pending.node, cst.Call)
    target = argument(pending.node, "label", 1) or argument(pending.node, "labels", 1)
    if target is None:
        return "the targets are not given to it by themselves"
    if not repeatable(target):
        return "its targets are computed in the call, and would be computed twice"
    if loss.built is not None:
        if not repeatable(pending.node.func):
            return "the loss is made where it is called"
        return "" if len(plan.facts.values_of(pending.node.func)) == 1 else "it is one of several"
    for name, wanted in (("weight", loss.weight), ("ignore_index", loss.ignore_index)):
        given = keyword(pending.node, name)
        if wanted and (given is None or not repeatable(given)):
            return f"its {name} is not given by its name"
    return ""


def argument(call: cst.Call, name: str, position: int) -> cst.BaseExpression | None:
    """An argument as it is written, by keyword or by position."""
    found = keyword(call, name)
    if found is not None:
        return found
    if len(call.args) <= position or any(
        arg.star or arg.keyword is not None for arg in call.args[: position + 1]
    ):
        return None
    return call.args[position].value


def keyword(call: cst.Call, name: str) -> cst.BaseExpression | None:
    """An argument that is given by its name."""
    for arg in call.args:
        if arg.keyword is not None and arg.keyword.value == name:
            return arg.value
    return None


def repeatable(node: cst.BaseExpression) -> bool:
    """Whether evaluating an expression twice is harmless and cheap."""
    if isinstance(node, (cst.Name, cst.Integer, cst.Float, cst.SimpleString)):
        return True
    if isinstance(node, cst.Attribute):
        return repeatable(node.value)
    if isinstance(node, cst.UnaryOperation):
        return repeatable(node.expression)
    if isinstance(node, (cst.List, cst.Tuple)):
        return all(repeatable(element.value) for element in node.elements)
    if isinstance(node, cst.Subscript):
        return repeatable(node.value) and all(map(repeatable_index, node.slice))
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        receiver = node.func.value
        word = node.func.attr.value
        if isinstance(receiver, cst.Name) and f"{receiver.value}.{word}" in PURE:
            return all(not arg.star and repeatable(arg.value) for arg in node.args)
        return (
            word in PURE
            and repeatable(receiver)
            and all(not arg.star and repeatable(arg.value) for arg in node.args)
        )
    return False


def repeatable_index(element: cst.SubscriptElement) -> bool:
    """Whether an index is harmless to evaluate twice."""
    part = element.slice
    if isinstance(part, cst.Index):
        return isinstance(part.value, cst.Ellipsis) or repeatable(part.value)
    if not isinstance(part, cst.Slice):
        return False
    return all(bound is None or repeatable(bound) for bound in (part.lower, part.upper, part.step))


def settled(plan: Plan, pending: Pending) -> Iterator[Change]:
    """Rewrite a place that has no obstacle."""
    module, node = pending.module, pending.node
    names = plan.names_in(module)
    assert isinstance(node, cst.BaseExpression)
    if pending.loss is None:
        found = parts_of(plan, node)
        if found.guard is None:
            yield Helper("reduce_mean", module)
            reduce = names.fresh("reduce_mean")
            for edit in wrap_expression(module.source, found.reduced, f"{reduce}(", ")"):
                yield In(module, edit)
            return
        yield Helper("reduce_sum", module)
        reduce, dist = names.fresh("reduce_sum"), names.imported("paddle.distributed", "dist")
        for edit in wrap_expression(module.source, found.reduced, f"{reduce}(", ")"):
            yield In(module, edit)
        for edit in surround(module, found.guard, "(", f" / {dist}.get_world_size())"):
            yield In(module, edit)
        return
    assert isinstance(node, cst.Call)
    yield Helper("weight_of_share", module)
    if pending.loss.weight and pending.loss.ignore_index:
        yield Helper("target_weights", module)
    weight_of_share = names.fresh("weight_of_share")
    after = f" * {weight_of_share}({counted(plan, pending, node)})"
    opening = "(" if binds_tightly(module, node) else ""
    for edit in surround(module, node, opening, f"{after})" if opening else after):
        yield In(module, edit)


def binds_tightly(module: Module, node: cst.Call) -> bool:
    """Whether a product in the place of a call must stand in parentheses."""
    if node.lpar:
        return False
    parent = module.source.parent(node)
    if isinstance(parent, (cst.Attribute, cst.Subscript, cst.UnaryOperation)):
        return True
    return isinstance(parent, cst.BinaryOperation) and (
        parent.right is node or isinstance(parent.operator, cst.Power)
    )


def counted(plan: Plan, pending: Pending, call: cst.Call) -> str:
    """The text of what a loss divides by."""
    source, loss = pending.module.source, pending.loss
    assert loss is not None
    target = argument(call, "label", 1) or argument(call, "labels", 1)
    assert target is not None
    of = source.code(target)
    holder = source.code(call.func)
    weight = f"{holder}.weight" if loss.built is not None else written(pending, call, "weight")
    ignore = (
        f"{holder}.ignore_index"
        if loss.built is not None
        else written(pending, call, "ignore_index")
    )
    if not loss.weight:
        return f"({of} != {ignore}).sum()"
    names = plan.names_in(pending.module)
    paddle = names.imported("paddle", "paddle")
    if not loss.ignore_index:
        return f"{paddle}.gather({weight}, {of}.flatten()).sum()"
    return f"{names.fresh('target_weights')}({weight}, {of}, {ignore})"


def written(pending: Pending, call: cst.Call, name: str) -> str:
    """The text of an argument that is given by its name."""
    found = keyword(call, name)
    return pending.module.source.code(found) if found is not None else ""
