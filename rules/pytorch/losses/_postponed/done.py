"""Lists and meters that a script averages over the processes already."""

from __future__ import annotations

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import External, Function, Values
from transpile.facts.walk import descendants
from transpile.plan.flow.places import ancestors
from transpile.plan.model import Plan
from transpile.rules.pytorch.losses._reported import Leaf

from .names import owner_of
from .returned import number_of, taken_by_callers

#: How deep functions are looked into for the collective.
DEEPEST = 3


def averaged_already(plan: Plan, leaf: Leaf) -> bool:
    """Whether a number is given to a list or meter that is averaged where it is read."""
    places: list[tuple[Module, cst.BaseExpression]] = [(leaf.module, leaf.node)]
    number = number_of(leaf)
    if number is not None:
        taken = taken_by_callers(plan, leaf.module, number, lambda module, node: True)
        places += [(each.module, each.node) for each in taken]
    return any(averaged_at(plan, module, node) for module, node in places)


def averaged_at(plan: Plan, module: Module, place: cst.BaseExpression) -> bool:
    """Whether what is given to a list or meter at a place is averaged where it is read."""
    owner = owner_of(module, place)
    name = receiver_of(module, place)
    if owner is None or not name:
        return False
    return any(
        averages(plan, node, name)
        for node in descendants(owner)
        if isinstance(node, (cst.Assign, cst.Expr))
    )


def receiver_of(module: Module, place: cst.BaseExpression) -> str:
    """The variable whose method is given a number in a statement of its own; empty for none."""
    for around in ancestors(module, place):
        if isinstance(around, cst.BaseSmallStatement):
            call = around.value if isinstance(around, cst.Expr) else None
            function = call.func if isinstance(call, cst.Call) else None
            if isinstance(function, cst.Attribute) and isinstance(function.value, cst.Name):
                return function.value.value
            return ""
    return ""


def averages(plan: Plan, statement: cst.Assign | cst.Expr, name: str) -> bool:
    """Whether a statement puts what the processes have together into a list or meter."""
    call = statement.value
    if not isinstance(call, cst.Call) or not call.args:
        return False
    given = call.args[0].value
    if isinstance(statement, cst.Assign):
        # losses[:] = average_numbers(*losses)
        target = statement.targets[0].target
        if len(statement.targets) > 1 or not isinstance(target, cst.Subscript):
            return False
        fits = is_name(target.value, name) and is_name(given, name) and call.args[0].star == "*"
    else:
        # average_meters([losses], "sum")
        fits = isinstance(given, cst.List) and any(is_name(e.value, name) for e in given.elements)
    return fits and meets(plan, plan.facts.values_of(call.func))


def is_name(node: cst.CSTNode, name: str) -> bool:
    """Whether an expression is a variable of a name."""
    return isinstance(node, cst.Name) and node.value == name


def meets(plan: Plan, functions: Values, depth: int = 0) -> bool:
    """Whether all processes meet in a call of some functions."""
    if depth > DEEPEST:
        return False
    return any(
        (
            value.name == "torch.distributed.all_reduce"
            if isinstance(value, External)
            else isinstance(value, Function)
            and any(
                meets(plan, plan.facts.values_of(node.func), depth + 1)
                for node in descendants(value.node)
                if isinstance(node, cst.Call)
            )
        )
        for value in functions
    )
