"""What is said of losses that are no sum or mean over samples that are kept apart."""

from __future__ import annotations

from transpile.facts.events import Event
from transpile.facts.values import Opaque, Value, Values
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan
from transpile.quantity.domain import Kind
from transpile.quantity.sample_axis.orders import range_end
from transpile.rule import Remark, Ruling
from transpile.rules.mxnet.data._draws import holds_batch
from transpile.rules.mxnet.losses._losses import Shares, shares

ADVICE = "make the loss a mean over samples that are kept apart"


def coupled(plan: Plan, event: Event, losses: Values) -> Remark | Ruling:
    """The warning for a loss that each worker makes of its share alone; a refusal if it cannot."""
    if takes_all_rows(plan, losses):
        return Ruling.refuse(
            "MX314",
            event,
            "this loss is made of as many rows of a batch, one after the other, as the batch of "
            "the script has, such as steps of time: each worker has some of them alone",
            "give each sample a row of its own, with its steps in it",
        )
    found = shares(plan).of(losses)
    how = (
        f"this loss is no sum or mean over samples that are kept apart: {found.reason}; each "
        "worker does so with its share, so that updates are not those of the whole batch"
        if found.kind is Kind.UNKNOWN and found.reason
        else "this loss is made of sums or means of the batch in a way that is no sum or mean over "
        "its samples, such as their ratio, their root or samples less their mean: each worker "
        "takes them over its share, so that updates are not those of the whole batch"
    )
    return Remark.warn("MX314", event, how, ADVICE)


def takes_all_rows(plan: Plan, losses: Values) -> bool:
    """Whether losses are made of as many rows of a batch as the script gives a batch."""
    known = shares(plan)
    return plan.options.batch_size == "global" and any(
        isinstance(value, Opaque) and picks_each(known, value)
        for value in walk_back(losses, holds_batch)
    )


def picks_each(known: Shares, value: Opaque) -> bool:
    """Whether an index takes the rows of a batch one by one, up to the batch size."""
    if value.kind != "item" or not is_batch(known, value.operands[0]):
        return False
    return any(counts_to_batch(known, each) for each in value.index)


def counts_to_batch(known: Shares, place: Value) -> bool:
    """Whether a number counts from nought to the batch size of the script."""
    if not isinstance(place, Opaque) or place.kind != "element":
        return False
    return any(
        isinstance(source, Opaque)
        and "builtins.range" in called_names(source)
        and known.is_size_of_batch(range_end(source))
        for source in place.operands[0]
    )


def is_batch(known: Shares, values: Values) -> bool:
    """Whether values are samples along the first axis."""
    found = known.of(values)
    return found.kind is Kind.SAMPLE and found.dim == 0
