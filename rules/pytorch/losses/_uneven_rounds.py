"""Loops with as many rounds as the samples of one process's share are long."""

from __future__ import annotations

import libcst as cst

from transpile.facts.events import Call, Loop
from transpile.facts.module import Module
from transpile.plan.data.collation import pads
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.plan.roles.backwards import data_sources
from transpile.records import dataclass
from transpile.rules.pytorch.data._loaders import PADDING

#: Why nothing that all processes do together may stand there.
UNEVEN = "each process reaches it as often as its own share of the batch is long"


@dataclass(frozen=True, eq=False)
class UnevenRounds:
    """Where the processes come by a different number of times.

    Args:
        loops: the identities of the loops.
        functions: those of the functions that are called in them.
    """

    loops: frozenset[int]
    functions: frozenset[int]


def is_uneven(plan: Plan, module: Module, node: cst.CSTNode) -> bool:
    """Whether a place lies in a loop over batches that each process pads for itself."""
    found = uneven_rounds(plan)
    if not found.loops:
        return False
    inner = node
    for around in module.source.parents(node):
        if id(around) in found.loops and inner is not getattr(around, "iter", None):
            return True
        if isinstance(around, cst.FunctionDef):
            return id(around) in found.functions
        inner = around
    return False


@query
def uneven_rounds(plan: Plan) -> UnevenRounds:
    """All such loops, and what is called in them; found once for all rules."""
    return find(plan)


def find(plan: Plan) -> UnevenRounds:
    """All such loops, and what is called in them."""
    if plan.way == "calls":
        # Every process has, and pads, the whole batch.
        return UnevenRounds(frozenset(), frozenset())
    padded = [one for one in plan.loaders if one.training and pads(plan, one, PADDING)]
    if not padded:
        return UnevenRounds(frozenset(), frozenset())
    drawing = {id(iteration.node) for loader in plan.loaders for iteration in loader.iterations}
    loops: dict[int, bool] = {}
    functions = set()
    for event in plan.facts.events:
        inside = False
        for frame in event.stack:
            if isinstance(frame, Loop):
                if id(frame.node) not in loops:
                    over = getattr(frame.node, "iter", None)
                    loops[id(frame.node)] = (
                        over is not None
                        and id(frame.node) not in drawing
                        and any(
                            loader is one
                            for loader, _ in data_sources(plan.facts.values_of(over), plan)
                            for one in padded
                        )
                    )
                inside = inside or loops[id(frame.node)]
            elif inside and isinstance(frame, Call):
                functions.add(id(frame.function.node))
    return UnevenRounds(
        frozenset(loop for loop, uneven in loops.items() if uneven), frozenset(functions)
    )
