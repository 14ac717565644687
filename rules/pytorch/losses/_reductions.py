"""How code is rewritten so that numbers are taken over all processes."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.plan.model import Plan
from transpile.quantity.asking import Duty, Pending, analysis
from transpile.rule import Change
from transpile.rules.pytorch.losses._asked import asks_for_any
from transpile.rules.pytorch.losses._denominators import Denominator, averaged, denominator
from transpile.rules.pytorch.losses._given_losses import labels_obstacle, weighed_by_labels
from transpile.rules.pytorch.losses._multiples import reduced, tensor_behind
from transpile.rules.pytorch.losses._rewritten_losses import loss_obstacle, rewritten_loss
from transpile.rules.pytorch.losses._selected_means import rewritten_mean
from transpile.rules.pytorch.losses._shuffled_evaluations import SHUFFLED, evaluates_shuffled
from transpile.rules.pytorch.losses._uneven_rounds import UNEVEN, is_uneven


def obstacle(plan: Plan, pending: Pending) -> str:
    """Why a place cannot be rewritten; empty where it can."""
    if pending.duty is not Duty.NUMBER and chosen_by_batch(plan, pending):
        return "only some processes may choose it"
    if is_uneven(plan, pending.module, pending.node):
        uneven: str = UNEVEN
        return uneven
    if pending.duty in (Duty.MEAN, Duty.DENOMINATOR) and evaluates_shuffled(
        plan, pending.module, pending.node
    ):
        shuffled: str = SHUFFLED
        return shuffled
    if pending.duty is Duty.LOSS:
        assert pending.loss is not None
        why: str = loss_obstacle(plan, pending.module, pending.loss)
        return why
    if pending.duty is Duty.LABELS:
        without: str = labels_obstacle(plan, pending)
        return without
    if pending.duty is Duty.MEAN:
        return ""
    if pending.duty is Duty.NUMBER:
        return "" if tensor_behind(pending.node) is not None else "the tensor has no name there"
    if not isinstance(pending.node, cst.BaseExpression):
        return "the denominator has no place in the text"
    found = denominator(plan, pending.module, pending.node)
    return found if isinstance(found, str) else ""


def chosen_by_batch(plan: Plan, pending: Pending) -> bool:
    """Whether the samples decide if a place is computed, in the expression where it stands.

    Where a conditional expression asks whether there are any samples, the processes agree on that;
    what a comprehension leaves out or an operator passes over, each process decides for itself.
    """
    inner: cst.CSTNode = pending.node
    for around in pending.module.source.parents(pending.node):
        if isinstance(around, (cst.FunctionDef, cst.BaseSmallStatement)):
            return False
        if isinstance(around, cst.IfExp) and inner is not around.test:
            if inner is around.body and asks_for_any(around.test):
                return False
            if differs(plan, around.test):
                return True
        if isinstance(around, cst.BooleanOperation) and inner is around.right:
            if differs(plan, around.left):
                return True
        if isinstance(around, cst.BaseComp) and inner is not around.for_in:
            if any(differs(plan, each) for each in deciding(around.for_in)):
                return True
        inner = around
    return False


def differs(plan: Plan, test: cst.BaseExpression) -> bool:
    """Whether the processes may find another value for an expression."""
    return not analysis(plan).of(plan.facts.values_of(test)).independent


def deciding(clause: cst.CompFor) -> Iterator[cst.BaseExpression]:
    """What decides how often a comprehension computes its element."""
    yield clause.iter
    for condition in clause.ifs:
        yield condition.test
    if clause.inner_for_in is not None:
        yield from deciding(clause.inner_for_in)


def settled(plan: Plan, pending: Pending) -> Iterator[Change]:
    """Rewrite a place that has no obstacle."""
    if pending.duty is Duty.LOSS:
        assert pending.loss is not None
        yield from rewritten_loss(plan, pending.module, pending.loss)
    elif pending.duty is Duty.LABELS:
        yield from weighed_by_labels(plan, pending)
    elif pending.duty is Duty.MEAN:
        yield from rewritten_mean(plan, pending)
    elif pending.duty is Duty.NUMBER:
        tensor = tensor_behind(pending.node)
        assert tensor is not None
        yield from reduced(plan, pending.module, tensor, "reduce_mean")
    else:
        assert isinstance(pending.node, cst.BaseExpression)
        found = denominator(plan, pending.module, pending.node)
        assert isinstance(found, Denominator)
        yield from averaged(plan, found)
