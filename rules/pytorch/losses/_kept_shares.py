"""What training keeps of this process's share of the batches for later steps."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.events import Event
from transpile.facts.values import Instance, Opaque, Value, Values
from transpile.plan.graph import walk_back
from transpile.plan.model import Plan
from transpile.plan.models.learning import reached_by_losses
from transpile.quantity.asking import Analysis, Kind, analysis
from transpile.quantity.domain import Quantity
from transpile.quantity.tensors.in_place import is_in_place, receivers_of


def kept_shares(plan: Plan) -> Iterator[Event]:
    """Where training keeps parts of a batch in a tensor or an attribute that enters a loss."""
    quantities = analysis(plan)
    training = [
        event for event in plan.facts.events if not event.detached and plan.in_training(event.stack)
    ]
    passing = {id(value) for event in training for value in event.result}
    used = set(reached_by_losses(plan))
    found: dict[int, Event] = {}
    known = -1
    while known < len(used):
        # What is written into something that a loss depends on enters the loss as well.
        known = len(used)
        for event in training:
            target, written = written_in_place(event)
            lasting = tuple(
                value
                for value in target
                if isinstance(value, Opaque)
                and id(value) in used
                and id(value) not in passing
                and not is_drawn_batch(quantities, value, event)
            )
            if not lasting:
                continue
            used.update(id(value) for value in walk_back(written, enters))
            # Numbers that are put into places of a tensor are followed from there.
            follows = event.kind != "call" and quantities.of(lasting).kind is Kind.PART
            if id(event.node) not in found and not follows:
                if is_share(quantities.of(written)):
                    found[id(event.node)] = event
    for event in training:
        if id(event.node) not in found and keeps_statistic(quantities, event, used):
            found[id(event.node)] = event
    yield from sorted(found.values(), key=lambda event: event.order)


def is_drawn_batch(quantities: Analysis, value: Value, event: Event) -> bool:
    """Whether an event stores into the dict or list that a step has drawn, which ends with it."""
    stores = event.kind == "store" and event.name == "[]"
    return stores and quantities.batch_of(value) is True and quantities.is_collection((value,))


def enters(value: Value) -> bool:
    """Whether what a value is made of is followed."""
    return not isinstance(value, Instance)


def is_share(quantity: Quantity) -> bool:
    """Whether a value is another one on each process."""
    return quantity.kind in (Kind.SAMPLE, Kind.PART, Kind.UNKNOWN) or bool(quantity.pending)


def keeps_statistic(quantities: Analysis, event: Event, used: set[int]) -> bool:
    """Whether an attribute is made of what it was and of a statistic of the samples at hand.

    Means and sums stay what they are where they are put together linearly; others do not.
    """
    if event.kind != "store" or event.name in ("[]", "data"):
        return False
    made = tuple(value for value in event.result if id(value) in used)
    if not made or quantities.of(made).kind is not Kind.UNKNOWN:
        return False
    return any(
        value is one
        for one in made
        if isinstance(one, Opaque)
        for operand in (*one.operands, *(item.values for item in one.arguments.items))
        for value in walk_back(operand, enters)
    )


def written_in_place(event: Event) -> tuple[Values, Values]:
    """What an event changes in place, and what it writes there; empty where it does not."""
    if event.kind == "store" and event.name in ("[]", "data"):
        return event.callee, event.result
    if event.kind == "call":
        for callee in event.callee:
            if isinstance(callee, Opaque) and callee.kind == "attribute":
                if is_in_place(callee.name):
                    given = tuple(v for item in event.arguments.items for v in item.values)
                    return receivers_of(callee.operands[0]), given
    return (), ()
