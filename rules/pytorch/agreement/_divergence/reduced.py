"""What becomes that of the global batch before anything depends on it."""

from __future__ import annotations

import libcst as cst

from transpile.facts.values import BoundMethod, Class, Function, Instance
from transpile.plan.model import Plan
from transpile.records import dataclass
from transpile.rules.pytorch.effects._vocabulary import VOCABULARY
from transpile.rules.pytorch.losses._reported import Change, reported

from .causes import Cause


@dataclass(frozen=True, eq=False)
class Reduced:
    """What becomes that of the global batch before anything depends on it.

    Args:
        nodes: expressions, by their identity, methods on the way to a plain number included.
        shared: those among them that stay each process's own in evaluations.
        values: what is given to others after it was reduced.
        averaged: those among the expressions of which the mean over the processes is taken.
    """

    nodes: frozenset[int]
    shared: frozenset[int]
    values: frozenset[int]
    averaged: frozenset[int] = frozenset()

    def causes(self, node: cst.CSTNode) -> set[Cause]:
        """Why a reduced expression may differ all the same."""
        return {Cause.RESULTS} if id(node) in self.shared else set()


#: Where no rule takes numbers over all processes.
NOTHING_REDUCED = Reduced(frozenset(), frozenset(), frozenset())


def reductions(plan: Plan) -> Reduced:
    """The numbers that the rule on reported numbers takes over all processes."""
    nodes: set[int] = set()
    shared: set[int] = set()
    values: set[int] = set()
    averaged: set[int] = set()
    found = reported(plan, VOCABULARY)
    together = found.together()
    for leaf in found.leaves.values():
        if id(leaf.node) not in together:
            continue
        kept = {id(leaf.node)}
        node: cst.CSTNode = leaf.node
        outer = leaf.module.source.parent(node)
        if isinstance(outer, cst.Arg) and enters_project(plan, leaf.module.source.parent(outer)):
            values.update(id(value) for value in plan.facts.values_of(node))
        while isinstance(outer, cst.Attribute) or (
            isinstance(outer, cst.Call) and outer.func is node
        ):
            node = outer
            kept.add(id(node))
            outer = leaf.module.source.parent(node)
        nodes |= kept
        if leaf.change is Change.SHARED_SUM:
            shared |= kept
        if leaf.change is Change.MEAN:
            averaged |= kept
    return Reduced(*map(frozenset, (nodes, shared, values, averaged)))


def enters_project(plan: Plan, call: cst.CSTNode | None) -> bool:
    """Whether a call hands its arguments to code of the project."""
    return isinstance(call, cst.Call) and any(
        isinstance(callee, (Function, BoundMethod, Class, Instance))
        for callee in plan.facts.values_of(call.func)
    )
