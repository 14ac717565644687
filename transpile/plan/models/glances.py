"""Where the language itself looks into an object: loops over it, spreads it, asks or shows it."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import External
from transpile.plan.graph import origin
from transpile.plan.model import Plan
from transpile.plan.query import query

Places = dict[int, list[tuple[Module, cst.BaseExpression]]]
#: Statements and expressions that look into an object that stands in them.
LOOKING = (
    cst.For, cst.CompFor, cst.StarredElement, cst.Arg, cst.Assign, cst.Comparison, cst.From,
    cst.FormattedStringExpression, cst.BinaryOperation, cst.Call,
)  # fmt: skip
ASKING = "builtins.getattr"


@query
def looked_into(plan: Plan) -> Places:
    """The expressions that are looked into, by the identity of the object that each may be."""
    found: Places = {}
    for module in plan.facts.modules.values():
        for place in module.source.nodes_of(*LOOKING):
            for node in objects_of(plan, place):
                if not isinstance(node, (cst.Name, cst.Attribute, cst.Subscript)):
                    continue
                for identity in {id(origin(value)) for value in plan.facts.values_of(node)}:
                    found.setdefault(identity, []).append((module, node))
    return found


def objects_of(plan: Plan, place: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """The expressions whose objects a statement or an expression looks into."""
    if isinstance(place, (cst.For, cst.CompFor)):
        yield place.iter
    elif isinstance(place, cst.StarredElement):
        yield place.value
    elif isinstance(place, cst.Arg):
        if place.star:
            yield place.value
    elif isinstance(place, cst.Assign):
        if any(isinstance(each.target, (cst.Tuple, cst.List)) for each in place.targets):
            yield place.value
    elif isinstance(place, cst.Comparison):
        for each in place.comparisons:
            if isinstance(each.operator, (cst.In, cst.NotIn)):
                yield each.comparator
    elif isinstance(place, cst.From):
        if isinstance(place.item, cst.BaseExpression):
            yield place.item
    elif isinstance(place, cst.FormattedStringExpression):
        yield place.expression
    elif isinstance(place, cst.BinaryOperation):
        yield from shown(place)
    elif isinstance(place, cst.Call) and place.args:
        # Of a property the run follows the code, and not the function that asks for it.
        if any(value == External(ASKING) for value in plan.facts.values_of(place.func)):
            yield place.args[0].value


def shown(place: cst.BinaryOperation) -> Iterator[cst.BaseExpression]:
    """What ``"%s" % model`` puts into words."""
    if isinstance(place.operator, cst.Modulo):
        if isinstance(place.right, cst.Tuple):
            yield from (each.value for each in place.right.elements)
        else:
            yield place.right
