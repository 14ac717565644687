"""Add gradients up over the workers before the script reads them.

What:
    Where gradients are clipped, or read in another way, between the backward pass and the step of
    a trainer, the workers add them up first, and the step does no more than update. Where the
    script adds up the gradients of a mean itself, by ``allreduce_grads()``, they are divided by the
    number of workers there. Where it calls ``trainer.update()`` and never adds gradients up, which
    one device does not need, that becomes a step.

Why:
    Within a step the workers add gradients up and update at once. What is read before that is of
    one worker's share: the norm that gradients are clipped by would be another on each.

Before:
    loss.backward()
    grads = [param.grad() for param in params.values()]
    gluon.utils.clip_global_norm(grads, 1.0)
    trainer.step(1)

After:
    loss.backward()
    add_up_gradients(trainer, average=True)
    grads = [param.grad() for param in params.values()]
    gluon.utils.clip_global_norm(grads, 1.0)
    step_alone(trainer)(1)

Refuses when:
    gradients are read elsewhere than right before the step, or servers update the parameters; the
    script adds up gradients of means and of sums at one place, or before some updates alone.

Source:
    https://mxnet.apache.org/versions/1.9.1/api/python/docs/api/gluon/trainer.html
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.layout import insert_after, insert_before, replace_expression
from transpile.plan.data.sources import is_simple
from transpile.plan.model import Plan
from transpile.plan.models.averaging import Small, small_statement
from transpile.records import dataclass
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.mxnet._roles import Update, gathers, receivers_of, updates
from transpile.rules.mxnet.data._loaders import from_store
from transpile.rules.mxnet.gradients._early_sums import (
    all_gatherings,
    early_sum,
    gatherings,
    is_gathered,
    is_taken_alone,
    updates_alone,
)
from transpile.rules.mxnet.gradients.scale_step import backwards_of, is_averaged, latest

CODES = {
    "MX321": "the workers add gradients up before they are read",
    "MX322": "gradients that the script adds up are averaged over the workers",
    "MX323": "an update adds up the gradients of the workers",
}
AVERAGE = "average_gradients"


@dataclass(frozen=True, eq=False)
class Gathered:
    """A place where the script adds up gradients of means.

    Args:
        module: where it is.
        statement: the statement.
        trainer: the expression of the trainer.
    """

    module: Module
    statement: Small
    trainer: cst.BaseExpression


@dataclass(frozen=True, eq=False)
class Alone:
    """An update that nothing adds gradients up before.

    Args:
        module: where it is.
        method: the name of the method that it calls.
    """

    module: Module
    method: cst.Name


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each step behind which gradients are read."""
    seen: set[int] = set()
    for update in updates(plan):
        place = early_sum(plan, update)
        if place is None or id(place.step) in seen:
            continue
        seen.add(id(place.step))
        average = is_averaged(plan, latest(plan, update, backwards_of(plan, update)))
        yield Ruling.apply(
            "MX321",
            (place.module, place.before),
            "the workers add gradients up before they are read",
            data=(place, average),
        )
    yield from averages(plan)
    yield from stepped(plan)


def stepped(plan: Plan) -> Iterator[Ruling]:
    """One answer for each update before which gradients are not added up, or not always."""
    found: dict[int, list[Update]] = {}
    for update in updates(plan):
        if updates_alone(update):
            found.setdefault(id(update.event.node), []).append(update)
    for runs in found.values():
        event = runs[0].event
        if all(is_gathered(plan, each) for each in runs):
            continue
        if all(early_sum(plan, each) is not None for each in runs):
            continue
        place = None
        if not any(all_gatherings(plan, each) for each in runs):
            place = alone_at(plan, runs)
        if place is None:
            yield Ruling.refuse(
                "MX304",
                event,
                "this update uses gradients that the workers have not added up before on every "
                "way to it: each of them would train apart",
                "call trainer.step() here, or trainer.allreduce_grads() right before",
            )
            continue
        yield Ruling.apply(
            "MX323", event, "the update adds up the gradients of the workers", data=place
        )


def alone_at(plan: Plan, runs: list[Update]) -> Alone | None:
    """Where the method of an update is named; None where it may be that of something else."""
    event = runs[0].event
    call = event.node
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute):
        return None
    known = {id(each.trainer.value) for each in updates(plan) if each.trainer is not None}
    every = [value for each in runs for value in receivers_of(each.event, "update")]
    if call.func.attr.value != "update" or any(id(value) not in known for value in every):
        return None
    return Alone(event.module, call.func.attr)


def averages(plan: Plan) -> Iterator[Ruling]:
    """One answer for each place where the script adds up gradients of means by itself."""
    found: dict[int, tuple[Event, set[bool]]] = {}
    for update in updates(plan):
        if gathers(update.event) or is_taken_alone(update.event) or from_workers(update):
            continue
        average = is_averaged(plan, latest(plan, update, backwards_of(plan, update)))
        for event in gatherings(plan, update):
            found.setdefault(id(event.node), (event, set()))[1].add(average)
    for event, kinds in found.values():
        place = gathered_at(event)
        if kinds == {False}:
            continue
        if place is None or len(kinds) > 1:
            yield Ruling.refuse(
                "MX304",
                event,
                "gradients of the mean of a batch are to be divided by the number of workers once "
                "they are added up, and that cannot be written here",
                "call trainer.allreduce_grads() as a statement of its own, for one kind of loss",
            )
            continue
        yield Ruling.apply(
            "MX322",
            event,
            "gradients of a mean are averaged over the workers",
            data=place,
            done=is_averaged_behind(place),
        )


def from_workers(update: Update) -> bool:
    """Whether the script itself divides by the number of workers in an update."""
    argument = update.event.arguments.get("batch_size", 0)
    return argument is not None and from_store(argument.values, "num_workers")


def gathered_at(event: Event) -> Gathered | None:
    """Where a call that adds gradients up stands; None where nothing can be put behind it."""
    statement = small_statement(event.module, event.node)
    call = event.node
    if statement is None or not isinstance(call, cst.Call):
        return None
    if not isinstance(call.func, cst.Attribute) or not is_simple(call.func.value):
        return None
    return Gathered(event.module, statement, call.func.value)


def is_averaged_behind(place: Gathered) -> bool:
    """Whether gradients are averaged in the line behind already."""
    source = place.module.source
    line = source.parent(place.statement)
    body = getattr(source.parent(line), "body", ()) if line is not None else ()
    behind = next((after for one, after in pairwise(body) if one is line), None)
    text = source.code(behind) if isinstance(behind, cst.SimpleStatementLine) else ""
    return text.strip().startswith(f"{AVERAGE}(")


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The sum before the gradients are read, and the step without it."""
    if isinstance(ruling.data, Gathered):
        yield from averaged(plan, ruling.data)
        return
    if isinstance(ruling.data, Alone):
        for edit in replace_expression(ruling.data.module.source, ruling.data.method, "step"):
            yield In(ruling.data.module, edit)
        return
    place, average = ruling.data
    names = plan.names_in(place.module)
    source = place.module.source
    trainer = source.code(place.trainer)
    yield Helper("add_up_gradients", place.module)
    yield Helper("step_alone", place.module)
    given = f"{trainer}, average=True" if average else trainer
    line = f"{names.fresh('add_up_gradients')}({given})"
    for edit in insert_before(source, place.before, [line]):
        yield In(place.module, edit)
    text = f"{names.fresh('step_alone')}({trainer})"
    for edit in replace_expression(source, place.step.func, text):
        yield In(place.module, edit)


def averaged(plan: Plan, place: Gathered) -> Iterator[Change]:
    """The mean behind the sum of the script's own."""
    source = place.module.source
    yield Helper(AVERAGE, place.module)
    line = f"{plan.names_in(place.module).fresh(AVERAGE)}({source.code(place.trainer)})"
    for edit in insert_after(source, place.statement, [line]):
        yield In(place.module, edit)
