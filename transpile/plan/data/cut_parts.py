"""How positions of samples are written: indices, bounds of slices, numbers of draws."""

from __future__ import annotations

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import Opaque, Values
from transpile.plan.model import Plan
from transpile.plan.table import Table


def index_values(plan: Plan, value: Opaque, node: cst.Subscript) -> Values:
    """The index of an item along its first dimension, or the bounds of its slices."""
    found = list(value.index)
    for place, element in enumerate(node.slice if not found else ()):
        if place and isinstance(element.slice, cst.Index):
            continue
        part = element.slice
        if isinstance(part, cst.Index):
            found.extend(plan.facts.values_of(part.value))
        elif isinstance(part, cst.Slice):
            for bound in (part.lower, part.upper, part.step):
                if bound is not None:
                    found.extend(plan.facts.values_of(bound))
    return tuple(found)


def later_indices(plan: Plan, node: cst.Subscript) -> list[Values]:
    """The indices of an item along the dimensions behind the first."""
    return [
        plan.facts.values_of(element.slice.value)
        for element in node.slice[1:]
        if isinstance(element.slice, cst.Index)
    ]


def drawn_size(table: Table, node: cst.Call, names: tuple[str, ...]) -> cst.BaseExpression | None:
    """How many positions a call draws; None where it is one, or not to be seen."""
    for arg in node.args:
        if arg.keyword is not None and arg.keyword.value in ("size", "k"):
            return single(arg.value)
    plain = [arg.value for arg in node.args if arg.keyword is None]
    if not table.shaped_draws.isdisjoint(names):
        found = [value for value in plain if isinstance(value, (cst.Tuple, cst.List))]
        return single(found[0]) if len(found) == 1 else None
    if any(name in ("random.sample", "numpy.random.choice") for name in names):
        return single(plain[1]) if len(plain) > 1 else None
    if any(name == "numpy.random.randint" for name in names):
        return single(plain[2]) if len(plain) > 2 else None
    return None


def single(node: cst.BaseExpression) -> cst.BaseExpression | None:
    """The one number of a shape."""
    if isinstance(node, (cst.Tuple, cst.List)):
        return node.elements[0].value if len(node.elements) == 1 else None
    return node


def module_of(plan: Plan, node: cst.CSTNode) -> Module:
    """The module that a node stands in."""
    for module in plan.facts.modules.values():
        if id(node) in module.source.places.around:
            return module
    return plan.entry
