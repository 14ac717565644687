"""Expressions that are multiplied, or handed to a helper, where they stand."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.layout import (
    wrap_expression,
)
from transpile.plan.model import Plan
from transpile.rule import Change, Helper, In
from transpile.text.changes import Insert
from transpile.text.edit import Edit
from transpile.text.span import Span

#: Methods that give the same data in another shape, type or place, and do nothing else.
PURE_METHODS = frozenset(
    {
        "view", "reshape", "to", "cuda", "cpu", "long", "float", "squeeze", "unsqueeze", "flatten",
        "contiguous", "transpose", "permute", "t", "detach", "size", "numel", "type", "int",
    }
)  # fmt: skip


#: Methods and functions that turn a tensor into numbers.
CONVERSIONS = frozenset({"item", "tolist", "numpy"})


#: Methods on the way from a tensor to its number.
ON_THE_WAY = frozenset({"cpu", "detach", "data", "numpy", "clone", "cuda", "to"})


def world_size(plan: Plan, module: Module) -> str:
    """The call that gives the number of processes."""
    return f"{plan.names_in(module).fresh('get_world_size')}()"


def multiplied(
    plan: Plan, module: Module, node: cst.BaseExpression, degree: int, receiver: bool = False
) -> Iterator[Change]:
    """Multiply an expression by the number of processes.

    Args:
        plan: the plan.
        module: where it stands.
        node: the expression.
        degree: to which power.
        receiver: whether a method is called on the result.
    """
    yield Helper("get_world_size", module)
    operator = "*" if degree > 0 else "/"
    power = f" ** {abs(degree)}" if abs(degree) > 1 else ""
    before, after = "", f" {operator} {world_size(plan, module)}{power}"
    if isinstance(node, cst.NamedExpr) and node.lpar:
        # What binds a name keeps its parentheses: the name stays bound to what it was.
        before, after = "(", f"{after})"
    elif not multiplies_well(node):
        before, after = "(", f"){after}"
    if receiver and not node.lpar:
        before, after = f"({before}", f"{after})"
    elif not receiver and needs_parentheses(module, node):
        before, after = f"({before}", f"{after})"
    yield from surrounded(module, node, before, after)


def multiplies_well(node: cst.BaseExpression) -> bool:
    """Whether ``node * factor`` multiplies all of the node."""
    if isinstance(node, cst.BinaryOperation):
        return not isinstance(
            node.operator,
            (
                cst.Add,
                cst.Subtract,
                cst.BitAnd,
                cst.BitOr,
                cst.BitXor,
                cst.LeftShift,
                cst.RightShift,
            ),
        )
    return not isinstance(
        node,
        (cst.IfExp, cst.Lambda, cst.Comparison, cst.BooleanOperation, cst.NamedExpr, cst.Await),
    ) and not (isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not))


def surrounded(
    module: Module, node: cst.BaseExpression, before: str, after: str
) -> Iterator[Change]:
    """Put text on both sides of an expression."""
    edits: tuple[Edit, ...]
    if before:
        edits = wrap_expression(module.source, node, before, after)
    else:
        span = module.source.span(node)
        edits = (Insert(span.end, after, 0, "close", span),)
    for edit in edits:
        yield In(module, edit)


def reduced(plan: Plan, module: Module, node: cst.BaseExpression, helper: str) -> Iterator[Change]:
    """Give an expression to a helper that reduces it over the processes."""
    yield Helper(helper, module)
    name = plan.names_in(module).fresh(helper)
    span = module.source.span(node)
    text = module.source.text
    if len(node.lpar) == 1 and text[span.start - 1] == "(" and text[span.end] == ")":
        # The parentheses that the expression has already are those of the call.
        whole = Span(span.start - 1, span.end + 1)
        yield In(module, Insert(span.start - 1, name, 0, "open", whole))
        return
    yield from surrounded(module, node, f"{name}(", ")")


def tensor_behind(node: cst.CSTNode) -> cst.BaseExpression | None:
    """The tensor that a call turns into numbers; None where it has no place in the text."""
    if not isinstance(node, cst.Call):
        return None
    function = node.func
    if isinstance(function, cst.Attribute) and function.attr.value in CONVERSIONS and not node.args:
        return on_its_device(function.value)
    if isinstance(function, cst.Name) and len(node.args) == 1 and not node.args[0].star:
        return on_its_device(node.args[0].value)
    return None


def on_its_device(node: cst.BaseExpression) -> cst.BaseExpression:
    """The tensor before it is moved and cut off from its graph."""
    while not node.lpar:
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
            if node.func.attr.value in ON_THE_WAY:
                node = node.func.value
                continue
        if isinstance(node, cst.Attribute) and node.attr.value == "data":
            node = node.value
            continue
        break
    return node


def is_simple(node: cst.BaseExpression) -> bool:
    """Whether evaluating an expression twice is harmless and cheap."""
    if isinstance(node, (cst.Name, cst.Integer, cst.Float, cst.SimpleString)):
        return True
    if isinstance(node, cst.Attribute):
        return is_simple(node.value)
    if isinstance(node, cst.UnaryOperation):
        return is_simple(node.expression)
    if isinstance(node, cst.Subscript):
        return is_simple(node.value) and all(is_simple_index(part) for part in node.slice)
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        return (
            node.func.attr.value in PURE_METHODS
            and is_simple(node.func.value)
            and all(not arg.star and is_simple(arg.value) for arg in node.args)
        )
    return False


def is_simple_index(element: cst.SubscriptElement) -> bool:
    """Whether an index is harmless to evaluate twice."""
    part = element.slice
    if isinstance(part, cst.Index):
        return isinstance(part.value, cst.Ellipsis) or is_simple(part.value)
    if not isinstance(part, cst.Slice):
        return False
    return all(bound is None or is_simple(bound) for bound in (part.lower, part.upper, part.step))


def needs_parentheses(module: Module, node: cst.BaseExpression) -> bool:
    """Whether a quotient in the place of `node` must stand in parentheses."""
    if node.lpar:
        return False
    parent = module.source.parent(node)
    if isinstance(parent, (cst.Attribute, cst.Subscript, cst.Await)):
        return True
    if isinstance(parent, cst.Call):
        return parent.func is node
    if isinstance(parent, cst.BinaryOperation):
        if isinstance(parent.operator, cst.Power):
            return True
        return parent.right is node and isinstance(
            parent.operator, (cst.Divide, cst.FloorDivide, cst.Modulo, cst.MatrixMultiply)
        )
    return isinstance(parent, cst.UnaryOperation) and not isinstance(parent.operator, cst.Not)
