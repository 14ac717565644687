"""What backward passes run from, and which of their denominators are rewritten."""

from __future__ import annotations

from transpile.facts.values import Opaque, Values
from transpile.plan.model import Backward, Plan
from transpile.plan.query import query
from transpile.rules.paddle.losses._denominators import Pending, obstacle
from transpile.rules.paddle.losses._quantities import Kind, Quantity, analysis
from transpile.rules.paddle.losses._summands import sums_beside


def losses_of(backward: Backward) -> Values:
    """What a backward pass runs from."""
    found = tuple(
        value
        for callee in backward.event.callee
        if isinstance(callee, Opaque) and callee.kind == "attribute"
        for value in callee.operands[0]
    )
    return found or backward.loss


def hindered(plan: Plan, quantity: Quantity) -> str:
    """Why a denominator cannot be taken over all processes; empty where each can."""
    for pending in quantity.pending:
        if not pending.factor:
            why = obstacle(plan, pending)
            if why:
                return f"its denominator differs between the processes, and {why}"
        elif any(
            analysis(plan).of(values).kind not in (Kind.SUM, Kind.NOTHING)
            for values in sums_beside(plan, pending)
        ):
            return (
                "it adds a sum over the batch to something that is no such sum, where whole "
                "batches are added up, too: with N processes the sum has 1/N of its weight"
            )
    return ""


@query
def rewritten(plan: Plan) -> frozenset[Pending]:
    """The denominators that are taken over all processes, for the sake of some backward pass."""
    return find_rewritten(plan)


def find_rewritten(plan: Plan) -> frozenset[Pending]:
    """See :func:`rewritten`."""
    found: set[Pending] = set()
    for backward in plan.backwards:
        if not backward.event.detached:
            quantity = analysis(plan).of(losses_of(backward))
            if quantity.kind in (Kind.MEAN, Kind.SUM) and not hindered(plan, quantity):
                found |= quantity.pending
    return frozenset(found)
