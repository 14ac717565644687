"""What backward passes run from, and which of their denominators are rewritten."""

from __future__ import annotations

from transpile.facts.values import Opaque, Values
from transpile.plan.model import Backward, Plan
from transpile.rules.paddle._denominators import Pending, obstacle
from transpile.rules.paddle._quantities import Kind, Quantity, analysis


def losses_of(backward: Backward) -> Values:
    """What a backward pass runs from."""
    for callee in backward.event.callee:
        if isinstance(callee, Opaque) and callee.kind == "attribute":
            return callee.operands[0]
    return backward.loss


def hindered(plan: Plan, quantity: Quantity) -> str:
    """Why a denominator cannot be taken over all processes; empty where each can."""
    reasons = (obstacle(plan, pending) for pending in quantity.pending)
    why = next(filter(None, reasons), "")
    return f"its denominator differs between the processes, and {why}" if why else ""


def rewritten(plan: Plan) -> frozenset[Pending]:
    """The denominators that are taken over all processes, for the sake of some backward pass."""
    if "rewritten" not in plan.memo:
        plan.memo["rewritten"] = find_rewritten(plan)
    found: frozenset[Pending] = plan.memo["rewritten"]
    return found


def find_rewritten(plan: Plan) -> frozenset[Pending]:
    """See :func:`rewritten`."""
    found: set[Pending] = set()
    for backward in plan.backwards:
        if not backward.event.detached:
            quantity = analysis(plan).of(losses_of(backward))
            if quantity.kind in (Kind.MEAN, Kind.SUM) and not hindered(plan, quantity):
                found |= quantity.pending
    return frozenset(found)
