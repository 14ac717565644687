"""What happens in a training loop before the workers add their gradients up."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Branch, Call, Event, Loop
from transpile.facts.values import Values
from transpile.plan.model import Plan
from transpile.rule import Ruling
from transpile.rules.mxnet._roles import Update, can_reduce, fits, gathers
from transpile.rules.mxnet.effects._vocabulary import VOCABULARY
from transpile.rules.mxnet.gradients._early_sums import early_sum, readers
from transpile.rules.mxnet.losses._decided import decided, ends_in_callbacks
from transpile.rules.mxnet.losses._metrics import why_of_one_worker
from transpile.rules.mxnet.losses._numbers import in_training, numbers_of


def early_gradients(plan: Plan, update: Update) -> Iterator[Ruling]:
    """Refusals of gradients that are read in a training loop before they are added up."""
    for event in readers(plan, update)[:1] if not gathers(update.event) else ():
        if early_sum(plan, update) is None:
            yield Ruling.refuse(
                "MX304",
                event,
                "gradients are used here that are those of one worker: they are added up over the "
                "workers only in the step",
                "call trainer.allreduce_grads() before, and trainer.update() instead of step()",
            )


def early_exits(plan: Plan, update: Update) -> Iterator[Ruling]:
    """Refusals of exits that depend on what one worker has seen."""
    if update.loop is None:
        return
    outer = {id(frame.node) for frame in update.event.stack if isinstance(frame, Loop)}
    by_one = decided(plan).tests
    for event in (*exits_of(plan, outer), update.event):
        for test in tests_inside(event, outer):
            values = plan.facts.values_of(test.test)
            if id(test) in by_one or (in_training(plan, values) and not agreed(plan, values)):
                yield early_exit(event)
                return
    raised = [each for each in plan.facts.exits if each.name == "raise" and not each.detached]
    for event in raised if by_one else ():
        if any(id(test) in by_one for test in tests_inside(event, outer)):
            yield early_exit(event)
            return
    if any(isinstance(f.node, cst.While) and id(f.node) in by_one for f in update.event.loops()):
        yield early_exit(update.event)


def ends_of_fits(plan: Plan) -> Iterator[Ruling]:
    """Refusals of calls that train whose callbacks end that by the metric of one worker."""
    for fit in fits(plan):
        why = why_of_one_worker(plan, fit)
        if why and ends_in_callbacks(plan):
            yield Ruling.refuse(
                "MX305",
                fit.event,
                "a callback ends the training by the metric of this call, which is that of one "
                f"worker, as {why}: workers that end at different batches wait for each other for "
                "ever",
                "decide on a metric that is a sum over a count, such as accuracy, or on a score",
            )


def early_exit(event: Event) -> Ruling:
    """The refusal of what ends the training of one worker."""
    return Ruling.refuse(
        "MX305",
        event,
        "whether training goes on here depends on what one worker has seen: workers "
        "that stop at different batches wait for each other for ever",
        "decide on a number that all workers have in common",
    )


def agreed(plan: Plan, values: Values) -> bool:
    """Whether a condition is made of numbers that are added up over the workers."""
    explained: bool = can_reduce(plan) and numbers_of(plan, VOCABULARY).explain(values)
    return explained


def exits_of(plan: Plan, loops: set[int]) -> Iterator[Event]:
    """The exits that leave one of these loops, or one of its rounds."""
    for event in plan.facts.exits:
        if event.detached or event.name == "raise":
            continue
        around = [frame for frame in event.stack if isinstance(frame, Loop | Call)]
        if event.name == "return":
            # It leaves the loops of its own function alone.
            calls = [index for index, frame in enumerate(around) if isinstance(frame, Call)]
            around = around[calls[-1] + 1 :] if calls else around
        elif around:
            around = around[-1:]
        if any(isinstance(frame, Loop) and id(frame.node) in loops for frame in around):
            yield event


def tests_inside(event: Event, loops: set[int]) -> Iterator[cst.If]:
    """The statements inside the outermost of these loops on whose condition an event depends."""
    inside = False
    for frame in event.stack:
        if isinstance(frame, Loop) and id(frame.node) in loops:
            inside = True
        elif inside and isinstance(frame, Branch) and isinstance(frame.node, cst.If):
            yield frame.node
