"""How code is rewritten so that numbers are taken over all processes."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.plan.model import Plan
from transpile.rule import Change
from transpile.rules.pytorch._denominators import Denominator, averaged, denominator
from transpile.rules.pytorch._multiples import reduced, tensor_behind
from transpile.rules.pytorch._quantity import Duty, Pending
from transpile.rules.pytorch._rewritten_losses import loss_obstacle, rewritten_loss


def obstacle(plan: Plan, pending: Pending) -> str:
    """Why a place cannot be rewritten; empty where it can."""
    if pending.duty is Duty.LOSS:
        assert pending.loss is not None
        why: str = loss_obstacle(plan, pending.loss)
        return why
    if pending.duty is Duty.NUMBER:
        return "" if tensor_behind(pending.node) is not None else "the tensor has no name there"
    if not isinstance(pending.node, cst.BaseExpression):
        return "the denominator has no place in the text"
    found = denominator(plan, pending.module, pending.node)
    return found if isinstance(found, str) else ""


def settled(plan: Plan, pending: Pending) -> Iterator[Change]:
    """Rewrite a place that has no obstacle."""
    if pending.duty is Duty.LOSS:
        assert pending.loss is not None
        yield from rewritten_loss(plan, pending.module, pending.loss)
    elif pending.duty is Duty.NUMBER:
        tensor = tensor_behind(pending.node)
        assert tensor is not None
        yield from reduced(plan, pending.module, tensor, "reduce_mean")
    else:
        assert isinstance(pending.node, cst.BaseExpression)
        found = denominator(plan, pending.module, pending.node)
        assert isinstance(found, Denominator)
        yield from averaged(plan, found)
