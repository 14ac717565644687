"""Random numbers that a training step draws once for all samples of its batch.

They are of its loss, or of what is reported. One process draws them once; several would draw one
each, for the share of the batch that it has. A choice of the task, a place where all sequences are
cut, the coefficient of a mixture are of this kind. What is drawn for each sample differs by rank as
the samples do.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Call, Event, Loop
from transpile.facts.values import Opaque, Sequence, Value, Values
from transpile.facts.walk import children, descendants
from transpile.plan.data.batch_size.uses import all_uses
from transpile.plan.graph import is_instance_of, walk_back
from transpile.plan.model import Plan
from transpile.plan.models.learning import reached_by_losses
from transpile.plan.query import query
from transpile.plan.roles.surroundings import gradients_off
from transpile.quantity.asking import Kind, quantity
from transpile.records import dataclass
from transpile.rules.pytorch.agreement._decisions import Decisions
from transpile.rules.pytorch.agreement.agree_on_splits import places_cut_out, splitting
from transpile.rules.pytorch.data._data import Data
from transpile.rules.pytorch.effects._vocabulary import VOCABULARY
from transpile.rules.pytorch.losses._reported import reported
from transpile.rules.pytorch.randomness._drawn_data import (
    PER_SAMPLE,
    drawn_data,
    is_per_sample,
    source_of,
)
from transpile.rules.pytorch.randomness._random_draws import Draws
from transpile.rules.pytorch.randomness._steered import (
    CHOOSING,
    chosen_by,
    is_entered,
    steered_by,
)

#: Functions that put what they are given into another order.
IN_PLACE = frozenset({"random.shuffle", "numpy.random.shuffle"})


@dataclass(frozen=True, eq=False)
class CommonDraw:
    """A draw that all samples of a batch have in common.

    Args:
        event: the call that draws, in one context.
        source: where its numbers come from: torch, numpy, random, own.
        in_model: it happens within a model's code.
        chooses: it says what the model does, and not only how much of it.
    """

    event: Event
    source: str
    in_model: bool
    chooses: bool


@query
def common_draws(plan: Plan) -> list[CommonDraw]:
    """The draws of a training step that are for its batch as a whole."""
    return list(find_common(plan))


def find_common(plan: Plan) -> Iterator[CommonDraw]:
    """See :func:`common_draws`."""
    draws = Draws(plan)
    drawn = [
        (event, source)
        for event in plan.facts.reached_calls
        for source in (source_of(plan, event),)
        if source
        and in_steps(plan, event)
        and draws.is_late(event)
        and (source == "own" or not draws.equal(event, source))
        and not is_of_samples(plan, event)
    ]
    if not drawn:
        return
    cut_out = places_cut_out(plan)
    known = {id(one.event.node) for one in drawn_data(plan)} | cut_out
    data = Data(plan)
    agreed = frozenset(id(decision.test) for decision in Decisions(plan).collect())
    found = reported(plan, VOCABULARY)
    numbers = {id(value) for value in walk_back(tuple(found.numbers), is_entered)}
    together = frozenset(found.together())
    steering = steered_by(plan, reached_by_losses(plan) | numbers, agreed, together=together)
    for event, source in drawn:
        touched = touched_by(plan, event)
        if id(event.node) in known:
            continue
        if splitting(event, data, cut_out) is not None:
            continue
        if any(id(value) in steering for value in touched) or is_looked_up(plan, touched):
            within = in_model(plan, event)
            if within and is_collected(plan, event, touched):
                within = False
            if not within or not gradients_off(event.stack, plan.table):
                chooses = any(id(value) in choices(plan) for value in touched)
                yield CommonDraw(event, source, within, chooses)


def is_collected(plan: Plan, event: Event, touched: Values) -> bool:
    """Whether a model draws, without gradients, what steps behind it cut their batches from.

    An agent's method acts like that: all processes take shares of what they have to collect alike.
    """
    if not gradients_off(event.stack, plan.table):
        return False
    steps = {
        id(loop.node)
        for each in plan.backwards
        if each.cuts
        for loop in list(each.event.loops())[-1:]
    }
    reached = reached_by_losses(plan)
    return (
        bool(steps)
        and not any(id(loop.node) in steps for loop in event.loops())
        and any(id(value) in reached for value in touched)
    )


@query
def choices(plan: Plan) -> set[int]:
    """The identities of what tests, loops and places in lists are made of."""
    found: set[int] = set()
    for module in plan.facts.modules.values():
        for node in module.source.nodes_of(*CHOOSING):
            for _ in walk_back(tuple(chosen_by(plan, node)), is_entered, found):
                pass
    return found


def is_looked_up(plan: Plan, touched: Values) -> bool:
    """Whether a list that is put in another order is looked up: what is at a place is no longer."""
    lists = {id(value) for value in touched if isinstance(value, Sequence)}
    return bool(lists) and any(
        id(value) in lists
        for module in plan.facts.modules.values()
        for node in module.source.nodes_of(cst.Subscript)
        for value in plan.facts.values_of(node.value)
    )


def in_model(plan: Plan, event: Event) -> bool:
    """Whether something happens in a model that is called, not in one that trains itself."""
    loops = {id(b.batch_loop.node) for b in plan.backwards if b.batch_loop is not None}
    training = {id(call.function.node) for b in plan.backwards for call in b.event.calls()}
    within = False
    for frame in event.stack:
        if isinstance(frame, Loop) and id(frame.node) in loops:
            within = False
        elif isinstance(frame, Call) and id(frame.function.node) not in training:
            bases = plan.table.module_bases
            within = within or any(is_instance_of(value, bases) for value in frame.receiver)
    return within


def in_steps(plan: Plan, event: Event) -> bool:
    """Whether something happens in the loops of a training, and not for single samples."""
    if is_per_sample(event) and not goes_through_batches(plan, event):
        return False
    around = {id(loop.node) for backward in plan.backwards for loop in backward.event.loops()}
    return any(id(loop.node) in around for loop in event.loops())


def goes_through_batches(plan: Plan, event: Event) -> bool:
    """Whether something happens in a generator that goes through the batches of a training."""
    batches = batch_loops(plan)
    cuts = cuts_of(plan)
    within = False
    for frame in event.stack:
        if isinstance(frame, Call):
            if frame.function.name in PER_SAMPLE:
                return False
            within = within or frame.function.is_generator
        elif within and isinstance(frame, Loop):
            if id(frame.node) in batches or cuts.intersection(map(id, descendants(frame.node))):
                return True
    return False


def batch_loops(plan: Plan) -> set[int]:
    """The loops that go through the batches of a training's loaders."""
    return {
        id(iteration.node) for loader in plan.training_loaders for iteration in loader.iterations
    }


def touched_by(plan: Plan, event: Event) -> Values:
    """What a draw gives, and what it changes in place."""
    found = list(event.result)
    for callee in event.callee:
        name = getattr(callee, "name", "")
        if isinstance(callee, Opaque) and callee.kind == "attribute":
            if name in plan.table.filling_methods or name == "shuffle":
                found.extend(callee.operands[0])
        if (name in IN_PLACE or name == "shuffle") and event.arguments.items:
            found.extend(event.arguments.items[0].values)
    return tuple(found)


def is_of_samples(plan: Plan, event: Event) -> bool:
    """Whether a draw is made for each sample, or depends on which samples there are."""
    given = tuple(value for item in event.arguments.items for value in item.values)
    if any(holds_batches(plan, value) for value in given):
        return False
    if of_batch(plan, touched_by(plan, event)) or of_batch(plan, given):
        return True
    if any(
        of_batch(plan, callee.operands[0])
        for callee in event.callee
        if isinstance(callee, Opaque) and callee.kind == "attribute"
    ):
        return True
    if sizes_of_batches(plan).intersection(map(id, descendants(event.node))):
        return True
    return any(goes_through_samples(plan, loop) for loop in event.loops())


def holds_batches(plan: Plan, value: Value) -> bool:
    """Whether a value is a list whose entries are whole batches, which processes have parts of."""
    open_ones = [value]
    seen: set[int] = set()
    while open_ones:
        found = open_ones.pop()
        if isinstance(found, Sequence) and id(found) not in seen:
            seen.add(id(found))
            open_ones += found.every()
        elif isinstance(found, Opaque) and found is not value and id(found.node) in cuts_of(plan):
            return True
    return False


@query
def cuts_of(plan: Plan) -> set[int]:
    """The expressions that cut the batches of a training."""
    return {id(cut.node) for backward in plan.backwards for cut in backward.cuts}


def of_batch(plan: Plan, values: Values) -> bool:
    """Whether values are made of the samples of a batch, or of their number."""
    for value in values:
        found = quantity(plan, (value,))
        if found.kind is Kind.EQUAL:
            if found.degree != 0:
                return True
        elif found.kind is Kind.UNKNOWN:
            if found.sampled:
                return True
        elif found.kind is not Kind.NOTHING:
            return True
    return False


def goes_through_samples(plan: Plan, loop: Loop) -> bool:
    """Whether a loop takes the samples of one batch, one after the other.

    One that takes something of all samples in each round, as a model that goes through the places
    of sequences, does not.
    """
    steps = {id(b.batch_loop.node) for b in plan.backwards if b.batch_loop is not None}
    if id(loop.node) in steps | batch_loops(plan):
        return False
    passes = list(passes_of(loop))
    taken = [quantity(plan, values) for values in taken_by(plan, loop, passes)]
    if any(one.content == "one" for one in taken):
        return True
    rows = any(one.kind is Kind.SAMPLE and one.dim is not None for one in taken)
    return any(counts_samples(plan, iterated, rows) for _, iterated in passes)


def counts_samples(plan: Plan, node: cst.CSTNode, rows: bool) -> bool:
    """Whether an expression is made of the samples of a batch, or of their number.

    Args:
        plan: the plan.
        node: the expression that a loop goes through, or a part of it.
        rows: what the loop takes of it has all samples.
    """
    if id(node) in sizes_of_batches(plan):
        return True
    values = plan.facts.values_of(node) if isinstance(node, cst.BaseExpression) else ()
    if of_batch(plan, values):
        found = quantity(plan, values)
        return not (found.kind is Kind.SAMPLE and (rows or found.dim not in (0, None)))
    # What is asked of a batch, such as the length of its sequences, need not be about samples.
    asked = node.func if isinstance(node, cst.Call) else node
    if values and isinstance(asked, (cst.Attribute, cst.Subscript)):
        return False
    return any(counts_samples(plan, child, rows) for child in children(node))


def passes_of(loop: Loop) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression]]:
    """The target and what a loop goes through; for a comprehension, those of each of its parts."""
    node = loop.node
    if isinstance(node, cst.For):
        yield node.target, node.iter
    part = getattr(node, "for_in", None)
    while isinstance(part, cst.CompFor):
        yield part.target, part.iter
        part = part.inner_for_in


def taken_by(
    plan: Plan, loop: Loop, passes: list[tuple[cst.BaseExpression, cst.BaseExpression]]
) -> Iterator[Values]:
    """What the names stand for that a loop binds, where they are used in it."""
    names = {
        name.value
        for target, _ in passes
        for name in descendants(target)
        if isinstance(name, cst.Name)
    }
    for node in descendants(loop.node):
        if isinstance(node, cst.Name) and node.value in names:
            yield plan.facts.values_of(node)


@query
def sizes_of_batches(plan: Plan) -> set[int]:
    """The expressions that are the size of a batch."""
    given = [loader.argument("batch_size") for loader in plan.training_loaders]
    return {
        id(use.node)
        for argument in given
        if argument is not None
        for use in all_uses(plan, argument, set())
    }
