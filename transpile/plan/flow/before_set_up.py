"""What of the text runs before the processes join, when nothing knows how many there are."""

from __future__ import annotations

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import BoundMethod, Function
from transpile.plan.flow.entering import set_up_of
from transpile.plan.flow.places import calls_of
from transpile.plan.flow.start import find_start
from transpile.plan.model import Plan


def runs_before_set_up(plan: Plan, module: Module, node: cst.CSTNode) -> bool:
    """Whether an expression has its value, or one of its values, before the processes join.

    Args:
        plan: the plan.
        module: where the expression is.
        node: the expression.
    """
    start, set_up = find_start(plan), set_up_of(plan)
    if start is None or set_up is None:
        return False
    function = enclosing_function(module, node)
    if function is start.function and function is not None:
        return precedes(module, node, set_up.behind, set_up.before)
    if function is not None:
        return any(
            set_up.after(event)
            and not event.detached
            and (
                any(called(callee) is function for callee in event.callee)
                or any(frame.function.node is function for frame in calls_of(event.stack))
            )
            for event in plan.facts.calls
        )
    if module is not plan.entry or start.function is not None:
        return True
    return precedes(module, node, set_up.behind, set_up.before)


def called(callee: object) -> cst.CSTNode | None:
    """The definition that a call enters, where it is one of the project's."""
    if isinstance(callee, BoundMethod):
        callee = callee.function
    return callee.node if isinstance(callee, Function) else None


def precedes(
    module: Module, node: cst.CSTNode, behind: cst.CSTNode | None, before: cst.CSTNode | None
) -> bool:
    """Whether an expression stands above the place of the set-up in the same block."""
    place = module.source.span(node).start
    if behind is not None:
        return place < module.source.span(behind).end
    return before is not None and place < module.source.span(before).start


def enclosing_function(module: Module, node: cst.CSTNode) -> cst.CSTNode | None:
    """The function whose body an expression is in; None where it runs with the module.

    Default values and decorators run where the function is defined.
    """
    inner = node
    for outer in module.source.parents(node):
        if isinstance(outer, (cst.FunctionDef, cst.Lambda)) and inner is outer.body:
            return outer
        inner = outer
    return None
