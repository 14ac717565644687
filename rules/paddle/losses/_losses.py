"""What backward passes run from, and which of their denominators are rewritten."""

from __future__ import annotations

from transpile.facts.values import Opaque, Values
from transpile.plan.model import Backward, Plan
from transpile.plan.query import query
from transpile.quantity.domain import Kind, Pending, Quantity, describe
from transpile.rules.paddle.losses._denominators import obstacle
from transpile.rules.paddle.losses._shares import analysis
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
            not is_sum_or_nothing(analysis(plan).of(values))
            for values in sums_beside(plan, pending)
        ):
            return (
                "it adds a sum over the batch to something that is no such sum, where whole "
                "batches are added up, too: with N processes the sum has 1/N of its weight"
            )
    return ""


def is_sum_or_nothing(quantity: Quantity) -> bool:
    """Whether a value is a sum over the batch, or none yet."""
    return quantity.is_sum or quantity.kind is Kind.NOTHING


def told(quantity: Quantity) -> str:
    """What a value is, in the words of messages."""
    if quantity.kind is Kind.NOTHING:
        return "nothing"
    if quantity.is_mean or quantity.is_sum:
        return "a mean over the batch" if quantity.is_mean else "a sum over the batch"
    if quantity.kind is Kind.SAMPLE:
        return "a tensor with an entry for each sample"
    if quantity.is_count:
        return "a number of samples"
    return "independent of the samples" if quantity.is_same else describe(quantity)


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
            if (quantity.is_mean or quantity.is_sum) and not hindered(plan, quantity):
                found |= quantity.pending
    return frozenset(found)
