"""Plain numbers that conditions on a whole batch set, and the loss they come to.

A number has no trace of the condition under which it was written down: which one a name holds is
said by the statements around it alone.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import Constant, Opaque
from transpile.facts.walk import descendants
from transpile.plan.flow.places import function_of
from transpile.plan.model import Plan

Target = cst.Name | cst.Attribute


def sets_number_of_loss(
    plan: Plan, module: Module, condition: cst.CSTNode, reached: set[int], one_sample: bool = False
) -> bool:
    """Whether a condition says which number a name holds, or a function gives, for a loss.

    Args:
        plan: the plan.
        module: where the condition is.
        condition: what is asked: the test of a statement, or what a ``match`` is about.
        reached: the identities of all values that a loss is made of.
        one_sample: one sample after the other is asked; what it sets is of all behind the loop.
    """
    loop = next((p for p in module.source.parents(condition) if isinstance(p, cst.For)), None)
    inside = {id(node) for node in descendants(loop)} if one_sample and loop is not None else set()
    for block in depending(module, condition):
        for node in descendants(block):
            target = number_set(plan, node)
            if one_sample and isinstance(node, cst.AugAssign | cst.Return):
                # Each sample counts for itself.
                continue
            if target is not None and any(
                id(read) not in inside and feeds(plan, where, read, reached)
                for where, read in reads(plan, module, target)
            ):
                return True
            if isinstance(node, cst.Return) and node.value is not None:
                function = function_of(module, node)
                if is_number(plan, node.value) and function is not None:
                    if any(feeds(plan, *call, reached) for call in calls_of(plan, function)):
                        return True
    return False


def depending(module: Module, condition: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The blocks that run or not by a condition."""
    statement = module.source.parent(condition)
    if isinstance(statement, cst.If):
        yield statement.body
        if isinstance(statement.orelse, cst.Else):
            yield statement.orelse
    elif isinstance(statement, cst.While):
        yield statement.body
    elif isinstance(statement, cst.Match):
        yield from statement.cases
    elif isinstance(statement, cst.Assert):
        around = next((p for p in module.source.parents(statement) if isinstance(p, cst.Try)), None)
        if around is not None:
            yield around


def number_set(plan: Plan, node: cst.CSTNode) -> Target | None:
    """The name or attribute that a statement gives a plain number to."""
    target: cst.CSTNode | None = None
    if isinstance(node, cst.Assign) and len(node.targets) == 1:
        target = node.targets[0].target
    elif isinstance(node, cst.AnnAssign | cst.AugAssign):
        target = node.target
    value = getattr(node, "value", None)
    if not isinstance(target, cst.Name | cst.Attribute) or value is None:
        return None
    return target if is_number(plan, value) else None


def is_number(plan: Plan, node: cst.BaseExpression) -> bool:
    """Whether an expression is a number that is written down."""
    values = plan.facts.values_of(node)
    return bool(values) and all(
        isinstance(value, Constant) and isinstance(value.value, (bool, int, float))
        for value in values
    )


def reads(plan: Plan, module: Module, target: Target) -> Iterator[tuple[Module, cst.CSTNode]]:
    """Where a name is read in its function, or an attribute of this name in its module."""
    function = function_of(module, target)
    for node in module.source.nodes_of(type(target)):
        if isinstance(node, cst.Name) and isinstance(target, cst.Name):
            if node.value == target.value and function_of(module, node) is function:
                yield module, node
        elif isinstance(node, cst.Attribute) and isinstance(target, cst.Attribute):
            same = node.attr.value == target.attr.value
            if same and module.source.code(node) == module.source.code(target):
                yield module, node


def calls_of(plan: Plan, function: cst.FunctionDef) -> Iterator[tuple[Module, cst.CSTNode]]:
    """The calls of a function of the project."""
    for event in plan.facts.reached_calls:
        if any(getattr(callee, "node", None) is function for callee in event.callee):
            yield event.module, event.node


def feeds(plan: Plan, module: Module, node: cst.CSTNode, reached: set[int]) -> bool:
    """Whether an expression that something is read in is a part of a loss."""
    inner: cst.CSTNode = node
    for outer in module.source.parents(node):
        if not isinstance(outer, cst.BaseExpression | cst.Arg | cst.Subscript | cst.Element):
            changes = isinstance(outer, cst.AugAssign) and outer.value is inner
            values = plan.facts.values_of(outer.target) if changes else ()  # type: ignore[attr-defined]
            return any(isinstance(one, Opaque) and id(one) in reached for one in values)
        if isinstance(outer, cst.BaseExpression):
            inner = outer
            if any(
                isinstance(one, Opaque) and id(one) in reached
                for one in plan.facts.values_of(outer)
            ):
                return True
    return False
