"""The search for what a script reports of its training batches."""

from __future__ import annotations

from transpile.facts.values import Opaque, Values
from transpile.plan.data.batch_sources import enters
from transpile.plan.effects.effects import Vocabulary
from transpile.plan.graph import walk_back
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.plan.roles.backwards import data_sources
from transpile.quantity.algebra import AT_TIMES
from transpile.quantity.asking import Kind, Quantity
from transpile.quantity.calls import given_back
from transpile.quantity.contents import COUNTED
from transpile.quantity.objects import held_by_objects
from transpile.quantity.sample_axis.shapes import PIECES
from transpile.records import replace
from transpile.rules.pytorch.data._looking import seen_whole

from .collected import Collected
from .inquiry import Inquiry
from .leaves import CHANCE, Leaves
from .model import Group, Leaf, Part, Reported
from .overlaps import reduced_once
from .settlement import Settlement, connected
from .shown import Shown
from .tallies import Tallies

DECIDED = "it decides by a number made of samples that are collected over the batches"


@query
def reported(plan: Plan, vocabulary: Vocabulary) -> Reported:
    """What a script reports of its training batches; found once for all rules."""
    return find(plan, vocabulary)


def find(plan: Plan, vocabulary: Vocabulary) -> Reported:
    """All that is reported, and where it leaves the batch."""
    inquiry = Inquiry(plan)
    leaves = Leaves(inquiry)
    tallies = Tallies(inquiry)
    collected = Collected(inquiry)
    settlement = Settlement(inquiry)
    groups = []
    # What is kept in objects is reduced where it gets in, and is then not reduced again.
    parts = Shown(inquiry, vocabulary).parts()
    for part in sorted(parts, key=lambda part: part.node is not None):
        if part.event.kind == "sort" and collected.are_samples(part.values):
            continue
        if tallies.hold(part.values):
            inquiry.doubt(part, "it counts the samples of one process")
        if collected.decides(part):
            inquiry.doubt(replace(part, decides=False), DECIDED)
        if matters(part, inquiry, collected):
            inquiry.found.numbers.extend(part.values)
            quantity = inquiry.analysis.of(part.values)
            found = tuple(leaves.of(part, quantity))
            if quantity.kind is Kind.EQUAL and quantity.degrees - {0} and misses_counts(found):
                inquiry.doubt(part, "the number of samples that it depends on is not found")
            if quantity.kind is Kind.UNKNOWN and not found and not quantity.pending:
                inquiry.doubt(part, told(quantity), collected.shows_few(part, quantity))
            groups.append(Group(part, quantity, found))
        elif inquiry.analysis.of(part.values).independent and not part.decides:
            # A quotient of counts stays what it is as long as all of them are changed, or none.
            counts = tuple(leaves.counts.of(None, part.values, part.event))
            groups.append(Group(part, inquiry.analysis.of(part.values), counts))
    for together in connected(reduced_once(inquiry, groups)):
        settlement.settle(together)
    for node in leaves.held & inquiry.found.leaves.keys():
        # Reduced by itself it would be that of all processes when it meets chance.
        leaf = inquiry.found.leaves.pop(node)
        inquiry.doubt(Part((), leaf.node, leaf.module, leaf.event), CHANCE)
    for leaf in list(inquiry.found.leaves.values()):
        settlement.finish(leaf)
    return inquiry.found


def misses_counts(found: tuple[Leaf, ...]) -> bool:
    """Whether no place that is changed holds the number of samples that a part depends on."""
    return bool(found) and not any(leaf.degree or leaf.whole_degree for leaf in found)


def matters(part: Part, inquiry: Inquiry, collected: Collected) -> bool:
    """Whether a part depends on training batches in a way that several processes change."""
    quantity = inquiry.analysis.of(part.values)
    if quantity.kind is Kind.NOTHING or seen_whole(inquiry.plan, part.values):
        return False
    if quantity.kind is Kind.SHAPE:
        compared = part.event.kind in ("test", "choose")
        shown = replace(part, decides=False) if compared else part
        inquiry.doubt(shown, "this is the shape of one process's share of the batch", not compared)
        return False
    if quantity.agreed and not quantity.pending and quantity.degree == 0:
        node = part.node or part.event.node
        inquiry.found.done.setdefault(id(node), part)
        return False
    if quantity.independent:
        return False
    if quantity.kind is Kind.UNKNOWN:
        counted = quantity.reason.startswith(COUNTED)
        if not counted and not made_of_batches(part.values, inquiry):
            return False
        if quantity.reason != AT_TIMES and inquiry.whole.of(part.values).kind is Kind.EQUAL:
            return True
        inquiry.doubt(part, told(quantity), collected.shows_few(part, quantity))
        return False
    if quantity.kind is Kind.SAMPLE:
        few = not collected.hold(part.values)
        inquiry.doubt(part, "these are samples of one process's share of the batch", few)
        return False
    return True


def made_of_batches(values: Values, inquiry: Inquiry) -> bool:
    """Whether values depend on batches, of loaders or cut out of the data."""
    plan = inquiry.plan
    values = with_closures(values, plan)
    if data_sources(values, plan):
        return True
    behind = list(walk_back(values, enters))
    cut = {id(one) for backward in plan.backwards for cut in backward.cuts for one in cut.values}
    if cut and any(id(value) in cut for value in behind):
        return True
    # What was put into a tensor by its index or in place.
    stored = inquiry.analysis.stored
    put = tuple(
        one
        for value in behind
        for one in (*stored.get(id(value), ()), *held_by_objects(plan, value))
    )
    return bool(put) and bool(data_sources(put, plan))


def with_closures(values: Values, plan: Plan) -> Values:
    """Values, and what the closures give that calls on the way to them were handed."""
    found = [*values]
    for value in walk_back(values, enters):
        if isinstance(value, Opaque) and value.kind == "call":
            found.extend(given_back(value, plan))
    return tuple(found)


def told(quantity: Quantity) -> str:
    """Why nothing is known of a number, and what is nevertheless."""
    reason: str = quantity.reason
    if not quantity.shared or reason == PIECES:
        # The sum over one process's samples divided by their number is no sum of means.
        return reason
    return (
        f"{reason}; besides, it is divided by the number of samples of this process's share, which "
        "makes a sum of means N times too large with N processes"
    )
