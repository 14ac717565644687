"""Code that looks at gradients, in whatever function it stands."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import BoundMethod, Function
from transpile.facts.walk import descendants
from transpile.plan.flow.before_set_up import enclosing_function
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.records import dataclass


@dataclass(frozen=True, eq=False)
class GradientRead:
    """A place that reads or changes the gradients of parameters.

    Args:
        module: the module of the place.
        node: the expression.
        function: the function whose body it is in; None where it runs with its module.
    """

    module: Module
    node: cst.CSTNode
    function: cst.CSTNode | None


@query
def gradient_reads(plan: Plan) -> list[GradientRead]:
    """All places that take ``.grad`` of something, by its name in a string, too."""
    return [
        GradientRead(module, node, enclosing_function(module, node))
        for module in plan.facts.modules.values()
        if "grad" in module.source.text
        for node in descendants(module.source.tree)
        if is_gradient(node)
    ]


def is_gradient(node: cst.CSTNode) -> bool:
    """Whether an expression takes the gradient of a parameter, or may name it."""
    if isinstance(node, cst.Attribute):
        return node.attr.value == "grad"
    return isinstance(node, cst.SimpleString) and node.evaluated_value == "grad"


@query
def _calls_of_functions(plan: Plan) -> dict[int, list[Event]]:
    """The calls of each function of the project, by the identity of its node."""
    found: dict[int, list[Event]] = {}
    for event in plan.facts.calls:
        for callee in event.callee:
            function = callee.function if isinstance(callee, BoundMethod) else callee
            if isinstance(function, Function):
                found.setdefault(id(function.node), []).append(event)
    return found


def first_read(
    plan: Plan, is_among: Callable[[cst.CSTNode], bool], happens: Callable[[Event], bool]
) -> GradientRead | None:
    """The first place that reads gradients in some code, or in a function that is called there.

    Of a function that is handed on, and that nothing is seen to call, it is not known where it
    runs.

    Args:
        plan: the plan.
        is_among: whether an expression stands in the code.
        happens: whether a call happens there.
    """
    for read in gradient_reads(plan):
        if is_among(read.node):
            return read
        if read.function is None or any(map(is_among, descendants(read.function))):
            continue
        calls = _calls_of_functions(plan).get(id(read.function), [])
        if any(map(happens, calls)) or (not calls and is_handed_on(plan, read.function)):
            return read
    return None


def is_handed_on(plan: Plan, function: cst.CSTNode) -> bool:
    """Whether a function that nothing calls is named where something else may call it."""
    if not isinstance(function, cst.FunctionDef):
        return True
    name = function.name.value
    return any(
        isinstance(node, (cst.Name, cst.Attribute))
        and name == (node.value if isinstance(node, cst.Name) else node.attr.value)
        and node is not function.name
        for module in plan.facts.modules.values()
        if name in module.source.text
        for node in descendants(module.source.tree)
    )
