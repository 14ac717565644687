"""Layers of the project that a library's container calls: what they plainly do across samples.

What reduces along the samples there, or carries something on from one batch to the next, is seen by
what it is. What else their passes give is analysed as :mod:`.passes` does.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.values import (
    BoundMethod,
    Class,
    External,
    Function,
    Instance,
    Opaque,
    Partial,
    Values,
)
from transpile.facts.walk import descendants
from transpile.plan.graph import walk_back
from transpile.plan.model import Plan
from transpile.plan.query import query

from ..operations import ALONG, DEFAULT_DIM, DIM_POSITION, MEANS, OVER_ALL, SUMS

REDUCING = SUMS | MEANS | OVER_ALL
#: How the dimension is named along which an operation works.
DIMENSIONS = frozenset({"dim", "axis"})


@query
def mixes(plan: Plan, layer: Instance) -> str:
    """What the passes of a layer do across the samples of a batch; empty where nothing is seen."""
    for function in passes_of(plan, layer):
        parameters = [each.name.value for each in function.node.params.params]
        given = made_of(function.node, set(parameters[1:]))
        for node in descendants(function.node):
            if isinstance(node, cst.Call) and (word := goes_across(plan, node, given)):
                return f"'{word}' goes over the samples in '{layer.cls.name}'"
            if carries_on(node, given):
                return f"'{layer.cls.name}' keeps something of a batch for the next one"
    return ""


def passes_of(plan: Plan, layer: Instance) -> Iterator[Function]:
    """The methods of its class that calls of a layer run."""
    for method in sorted(plan.table.dialect.dispatched):
        for ancestor in layer.cls.ancestry():
            found = ancestor.scope.names.get(method, ()) if isinstance(ancestor, Class) else ()
            if found:
                yield from (
                    one
                    for one in found
                    if isinstance(one, Function) and isinstance(one.node, cst.FunctionDef)
                )
                break


@query
def replaces_passes(plan: Plan) -> bool:
    """Whether a function of the script is put in the place of what calls of some layer run.

    That is ``layer.forward = f``. An object of a class of the script has it from then on, and any
    layer of a library may be the one.
    """
    names = plan.table.dialect.dispatched
    layers = plan.table.quantities.layers
    for event in plan.facts.stores:
        if event.name not in names or not holds_function(event.result):
            continue
        for base in event.callee:
            if isinstance(base, Opaque) or (isinstance(base, External) and layers.makes(base.name)):
                return True
    return False


def has_replaced_pass(plan: Plan, layer: Instance) -> bool:
    """Whether an object has another pass than its class."""
    own = {id(one) for one in passes_of(plan, layer)}
    return any(
        id(value.function if isinstance(value, BoundMethod) else value) not in own
        for name in plan.table.dialect.dispatched
        for value in layer.attributes.get(name, ())
    )


def holds_function(values: Values) -> bool:
    """Whether values are functions of the script, or made of some."""
    return any(isinstance(one, (Function, BoundMethod, Partial)) for one in walk_back(values))


def made_of(function: cst.FunctionDef | cst.Lambda, given: set[str]) -> set[str]:
    """The names of a pass that stand for samples, or for what is made of them."""
    names, before = set(given), -1
    while len(names) > before:
        before = len(names)
        for node in descendants(function):
            if isinstance(node, cst.Assign) and is_made(node.value, names):
                for each in node.targets:
                    names.update(n.value for n in descendants(each.target) if type(n) is cst.Name)
    return names - {"self"}


def is_made(node: cst.CSTNode, names: set[str]) -> bool:
    """Whether an expression has a part that stands for samples, other than its shape."""
    if isinstance(node, cst.Attribute) and node.attr.value in ("shape", "ndim", "dtype", "size"):
        return False
    if isinstance(node, cst.Name):
        return node.value in names
    return any(is_made(child, names) for child in node.children)


def goes_across(plan: Plan, call: cst.Call, names: set[str]) -> str:
    """The word of an operation that goes along the first dimension of samples; empty for others."""
    func = call.func
    if not isinstance(func, cst.Attribute):
        return ""
    word = plan.table.quantities.operation(func.attr.value)
    arguments = list(call.args)
    if word not in REDUCING and word not in ALONG:
        return ""
    if not is_made(func.value, names):
        first = arguments.pop(0) if arguments else None
        if first is None or not is_made(first.value, names):
            return ""
    named = [arg.value for arg in arguments if arg.keyword and arg.keyword.value in DIMENSIONS]
    placed = [arg.value for arg in arguments if arg.keyword is None]
    position = DIM_POSITION.get(word, 0)
    along = named or placed[position : position + 1]
    if not along:
        return "" if word in ALONG or word in DEFAULT_DIM else func.attr.value
    return func.attr.value if is_first(along[0]) else ""


def is_first(node: cst.BaseExpression) -> bool:
    """Whether a dimension, or one of several, is the first one as it is written."""
    if isinstance(node, (cst.Tuple, cst.List)):
        return any(is_first(each.value) for each in node.elements)
    return isinstance(node, cst.Integer) and node.evaluated_value == 0


def carries_on(node: cst.CSTNode, names: set[str]) -> bool:
    """Whether a statement makes an attribute of the layer out of itself and of samples."""
    if isinstance(node, cst.AugAssign):
        return is_own(node.target) and counts_or_holds(node.value, names)
    if isinstance(node, cst.Assign):
        return counts_or_holds(node.value, names) and any(
            is_own(each.target) and is_read(node.value, each.target) for each in node.targets
        )
    if isinstance(node, cst.Expr) and isinstance(node.value, cst.Call):
        call = node.value
        parts = [arg.value for arg in call.args]
        if isinstance(call.func, cst.Attribute):
            parts.append(call.func.value)
        own = [part for part in parts if is_own(part)]
        return any(
            is_read(part, held) and counts_or_holds(part, names)
            for held in own
            for part in parts
            if part is not held
        )
    return False


def counts_or_holds(node: cst.CSTNode, names: set[str]) -> bool:
    """Whether an expression is made of samples, be it of how many there are."""
    return any(isinstance(each, cst.Name) and each.value in names for each in descendants(node))


def is_own(node: cst.CSTNode) -> bool:
    """Whether an expression is an attribute of the layer itself."""
    return isinstance(node, cst.Attribute) and getattr(node.value, "value", "") == "self"


def is_read(node: cst.CSTNode, held: cst.CSTNode) -> bool:
    """Whether an expression has an attribute in it."""
    return any(each.deep_equals(held) for each in descendants(node) if is_own(each))
