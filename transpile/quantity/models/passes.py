"""What the passes of the project's layers give that a framework calls, each analysed by itself."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from typing import TYPE_CHECKING

import libcst as cst

from transpile.facts.values import Function, Instance, join
from transpile.facts.walk import returned

from .. import domain
from ..domain import NOTHING, Quantity
from .held_layers import has_replaced_pass, passes_of

if TYPE_CHECKING:
    from ..analysis import Supposing


def pass_alone(within: Supposing, layer: Instance, dim: int) -> Quantity:
    """What the pass of a layer gives for samples, by an analysis of its own.

    Args:
        within: the analysis that asks.
        layer: the layer.
        dim: the dimension that counts the samples that it is given.
    """
    if has_replaced_pass(within.plan, layer):
        return domain.unknown("what calls of a layer run is replaced")
    functions = list(passes_of(within.plan, layer))
    given = {id(one.node): dim for one in functions}
    if given.keys() <= within.passes.keys():
        # A layer within itself gives what it gives otherwise.
        return NOTHING
    known = within.given_by_passes
    key = (id(layer), dim, frozenset(within.passes.items()))
    if key not in known:
        found = copy(within)
        found.begin()
        found.passes = {**within.passes, **given}
        facts = within.plan.facts
        results = [facts.values_of(node) for one in functions for node in results_of(one)]
        known[key] = found.of(join(*results))
    return known[key]


def results_of(function: Function) -> Iterable[cst.BaseExpression]:
    """The expressions whose values a pass gives."""
    if isinstance(function.node, cst.Lambda):
        return (function.node.body,)
    return returned(function.node)
