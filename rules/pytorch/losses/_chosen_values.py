"""Values of a loss that are chosen by what one process sees of the batch."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import Values
from transpile.facts.walk import descendants
from transpile.plan.model import Plan
from transpile.plan.models.learning import reached_by_losses
from transpile.quantity.asking import Kind, Quantity, analysis
from transpile.quantity.sample_axis.shapes import PIECES
from transpile.rules.pytorch.agreement._divergence import Divergence
from transpile.rules.pytorch.agreement._divergence.expressions import asks_for_none
from transpile.rules.pytorch.agreement._together import conditions_of
from transpile.rules.pytorch.losses._chosen_numbers import sets_number_of_loss
from transpile.rules.pytorch.losses._reported.shown import checks_for_nan


def chosen_by_share(plan: Plan) -> Iterator[Event]:
    """The conditions on the samples at hand that set what a loss, or an optimizer, is made of.

    Conditions on which steps depend are agreed on elsewhere, and so are those that are reduced.
    """
    quantities = analysis(plan)
    reached = reached_by_losses(plan) | {id(one.value) for one in plan.optimizers}
    deciding = {id(one.test) for one in conditions_of(plan) if one.decides}
    seen: set[int] = set()
    for event in plan.facts.events:
        if event.kind not in ("test", "choose") or event.detached:
            continue
        if id(event.node) in deciding | seen or any(map(checks_for_nan, event.callee)):
            continue
        if not plan.in_training(event.stack) or quantities.is_model_code(event.module, event.node):
            continue
        chosen = event.result if event.kind == "choose" else assigned(plan, event)
        if not any(id(value) in reached for value in chosen):
            asked = [quantities.of(each) for each in compared(plan, event)]
            asked = [each for each in asked if is_of_batch(each)]
            if asked and sets_number_of_loss(
                plan, event.module, event.node, reached, all(map(is_of_one, asked))
            ):
                seen.add(id(event.node))
                yield event
            continue
        # What a conditional expression asks is reduced only where no loss is made of its values.
        reduced = event.kind == "test"
        if asks_for_none(event.node):
            if is_absent_by_share(plan, event):
                seen.add(id(event.node))
                yield event
            continue
        if any(is_unsure(quantities.of(each), reduced) for each in compared(plan, event)):
            seen.add(id(event.node))
            yield event


def is_of_batch(quantity: Quantity) -> bool:
    """Whether something is asked of the samples at hand that is not taken over all of them."""
    return quantity.kind is Kind.SAMPLE or (quantity.kind is Kind.UNKNOWN and quantity.sampled)


def is_of_one(quantity: Quantity) -> bool:
    """Whether it is asked of one sample after the other."""
    return quantity.kind is Kind.SAMPLE or quantity.content == "one" or quantity.reason == PIECES


def is_absent_by_share(plan: Plan, event: Event) -> bool:
    """Whether something may be None on some processes only.

    What samples it was made of is not asked, only whether it was set.
    """
    divergence = Divergence(plan, len(plan.facts.events))
    return divergence.cause(event.module, event.node) is not None


def compared(plan: Plan, event: Event) -> Iterator[Values]:
    """What a condition compares, or what it is; linear numbers are reduced before."""
    node = event.node
    if isinstance(node, cst.Comparison):
        yield plan.facts.values_of(node.left)
        yield from (plan.facts.values_of(target.comparator) for target in node.comparisons)
    else:
        yield event.callee


def is_unsure(quantity: Quantity, reduced: bool) -> bool:
    """Whether a value is another one on each process, and is not taken over all of them."""
    if quantity.kind is Kind.UNKNOWN:
        return bool(quantity.sampled)
    return not reduced and (quantity.kind is Kind.PART or bool(quantity.pending))


def assigned(plan: Plan, event: Event) -> Values:
    """What the arms of a condition give to names."""
    statement = event.module.source.parent(event.node)
    if not isinstance(statement, cst.If):
        return ()
    return tuple(
        value
        for arm in (statement.body, statement.orelse)
        if arm is not None and not isinstance(arm, cst.If)
        for node in descendants(arm)
        if isinstance(node, (cst.Assign, cst.AnnAssign)) and node.value is not None
        for value in plan.facts.values_of(node.value)
    )
