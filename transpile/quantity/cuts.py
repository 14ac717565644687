"""Slices whose bounds follow from all samples at hand, as from the longest of them."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from transpile.facts.values import Values
from transpile.plan.model import Plan

from .domain import Kind, Quantity

CUT_BY_SHARE = "numbers of one process's share of the batch say how much of each sample is taken"


def is_cut_by_share(
    plan: Plan, look: Callable[[Values], Quantity], base: Quantity, node: cst.Subscript
) -> bool:
    """Whether numbers of all samples at hand say what is taken of each of them.

    Args:
        plan: the plan.
        look: tells quantities.
        base: the quantity of what is indexed.
        node: the index.
    """
    for place, element in enumerate(node.slice):
        if base.dim is None or place == base.dim:
            continue
        part = element.slice
        bounds = [part.value] if isinstance(part, cst.Index) else []
        if isinstance(part, cst.Slice):
            bounds = [each for each in (part.lower, part.upper, part.step) if each is not None]
        for bound in bounds:
            said = look(plan.facts.values_of(bound))
            unsure = said.kind is Kind.UNKNOWN and (said.whole or said.sampled)
            if said.content != "one" and (said.kind is Kind.PART or said.pending or unsure):
                return True
    return False
