"""Numbers that a function hands back to the one place that calls it, where they may wait."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import libcst as cst

from transpile.facts.events import Call
from transpile.facts.module import Module
from transpile.facts.values import BoundMethod, Function, Value
from transpile.facts.walk import descendants
from transpile.plan.flow.places import ancestors
from transpile.plan.model import Plan
from transpile.records import dataclass
from transpile.rules.pytorch.losses._multiples import ON_THE_WAY
from transpile.rules.pytorch.losses._reported import Leaf

from .names import Owner, inside_other, owner_of

#: How many functions a number is followed out of.
FURTHEST = 3


@dataclass(frozen=True, eq=False)
class Taken:
    """Where a number is taken from a call.

    Args:
        module: where it is.
        node: the expression for the number.
        call: the call that hands it back.
    """

    module: Module
    node: cst.BaseExpression
    call: cst.Call


def taken_by_callers(
    plan: Plan,
    module: Module,
    number: cst.BaseExpression,
    is_linear: Callable[[Module, cst.BaseExpression], bool],
) -> Iterator[Taken]:
    """The places to which a number is handed back, from function to function.

    Args:
        plan: the plan.
        module: where the number is made.
        number: the expression that makes it.
        is_linear: whether an expression is a multiple of the number as it was taken last.
    """
    for _ in range(FURTHEST):
        found = handed_back(module, number)
        if found is None:
            return
        function, value, position = found
        taken = taken_by_caller(plan, function, position) if is_linear(module, value) else None
        if taken is None:
            return
        yield taken
        module, number = taken.module, taken.node


def handed_back(
    module: Module, number: cst.BaseExpression
) -> tuple[cst.FunctionDef, cst.BaseExpression, int | None] | None:
    """The function that always hands back a number, what it is part of, and its position.

    A function with another ``return`` may hand back something else.
    """
    function, value, position = owner_of(module, number), number, None
    if not isinstance(function, cst.FunctionDef) or function.decorators or function.asynchronous:
        return None
    for around in ancestors(module, number):
        if around is number:
            continue
        if isinstance(around, cst.BinaryOperation) and position is None:
            value = around
        elif isinstance(around, cst.Tuple) and position is None:
            values = [element.value for element in around.elements]
            if any(isinstance(each, cst.StarredElement) for each in around.elements):
                return None
            position = next(place for place, each in enumerate(values) if each is value)
        elif isinstance(around, cst.Return):
            ends = [n for n in descendants(function) if isinstance(n, (cst.Return, cst.Yield))]
            return (function, value, position) if ends == [around] else None
        elif not isinstance(around, cst.Element):
            return None
    return None


def taken_by_caller(plan: Plan, function: cst.FunctionDef, position: int | None) -> Taken | None:
    """Where the only call of a function takes what it hands back; None where there are more."""
    calls = {
        id(event.node): (event.module, event.node)
        for event in plan.facts.calls
        if any(body_of(callee) is function for callee in event.callee)
    }
    if len(calls) != 1 or any(
        isinstance(frame, Call) and frame.function.node is function and id(frame.node) not in calls
        for event in plan.facts.events
        for frame in event.stack
    ):
        return None
    ((module, call),) = calls.values()
    if not isinstance(call, cst.Call):
        return None
    node = expression_of(module, call, position)
    return Taken(module, node, call) if node is not None else None


def body_of(callee: Value) -> cst.CSTNode | None:
    """The definition of what is called, where that is in the project."""
    if isinstance(callee, BoundMethod):
        return callee.function.node
    return callee.node if isinstance(callee, Function) else None


def expression_of(
    module: Module, call: cst.Call, position: int | None
) -> cst.BaseExpression | None:
    """The expression for what a call hands back, or for one of several things; None for none."""
    parent = module.source.parent(call)
    if isinstance(parent, cst.Assign) and len(parent.targets) == 1:
        target: cst.BaseExpression = parent.targets[0].target
        if position is not None:
            if not isinstance(target, (cst.Tuple, cst.List)) or len(target.elements) <= position:
                return None
            if any(isinstance(each, cst.StarredElement) for each in target.elements):
                return None
            target = target.elements[position].value
        return read_once(module, target)
    return call if position is None else None


def read_once(module: Module, target: cst.BaseExpression) -> cst.Name | None:
    """The only place that reads a variable which is set once; None where there are more."""
    owner = owner_of(module, target)
    if not isinstance(target, cst.Name) or owner is None:
        return None
    whole = module.source.tree if isinstance(owner, cst.Module) else owner
    uses = [
        node
        for node in descendants(whole)
        if isinstance(node, cst.Name) and node.value == target.value and node is not target
        if not is_word(module, node) and not is_of_other(module, owner, node)
    ]
    if len(uses) != 1 or inside_other(module, owner, uses[0]):
        return None
    return None if isinstance(module.source.parent(uses[0]), WRITING) else uses[0]


#: What sets or hides a variable.
WRITING = (cst.AssignTarget, cst.AnnAssign, cst.NameItem, cst.Param, cst.Del, cst.NamedExpr)


def is_of_other(module: Module, owner: Owner, node: cst.Name) -> bool:
    """Whether a name is that of a variable that a function within the owner has for itself."""
    inner = owner_of(module, node)
    if inner is None or inner is owner or isinstance(inner, cst.Module):
        return False
    same = [n for n in descendants(inner) if isinstance(n, cst.Name) and n.value == node.value]
    around = [module.source.parent(each) for each in same]
    return any(isinstance(parent, (cst.AssignTarget, cst.Param)) for parent in around) and not any(
        isinstance(parent, cst.NameItem) for parent in around
    )


def is_word(module: Module, node: cst.Name) -> bool:
    """Whether a name is that of an attribute or of a keyword, and no variable."""
    parent = module.source.parent(node)
    return (isinstance(parent, cst.Attribute) and parent.attr is node) or (
        isinstance(parent, cst.Arg) and parent.keyword is node
    )


def number_of(leaf: Leaf) -> cst.Call | None:
    """The call that makes a plain number of a tensor; None where there is none around it."""
    source = leaf.module.source
    node: cst.CSTNode = leaf.node
    while True:
        outer = source.parent(node)
        if isinstance(outer, cst.Attribute) and outer.value is node:
            word = outer.attr.value
            if word == "data":
                node = outer
                continue
            call = source.parent(outer)
            if not isinstance(call, cst.Call) or call.func is not outer or call.args:
                return None
            if word == "item":
                return call
            if word not in ON_THE_WAY or word == "numpy":
                return None
            node = call
            continue
        if isinstance(outer, cst.Arg) and outer.keyword is None and not outer.star:
            call = source.parent(outer)
            if isinstance(call, cst.Call) and len(call.args) == 1:
                if isinstance(call.func, cst.Name) and call.func.value in ("float", "int"):
                    return call
        return None
