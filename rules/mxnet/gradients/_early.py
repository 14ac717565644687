"""What happens in a training loop before the workers add their gradients up."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Branch, Call, Event, Loop
from transpile.facts.values import Values
from transpile.plan.model import Plan
from transpile.rule import Ruling
from transpile.rules.mxnet._roles import Update, can_reduce, gathers
from transpile.rules.mxnet.effects._vocabulary import VOCABULARY
from transpile.rules.mxnet.gradients._early_sums import early_sum, readers
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
    for event in (*exits_of(plan, outer), update.event):
        for test in tests_inside(event, outer):
            values = plan.facts.values_of(test)
            if in_training(plan, values) and not agreed(plan, values):
                yield Ruling.refuse(
                    "MX305",
                    event,
                    "whether training goes on here depends on what one worker has seen: workers "
                    "that stop at different batches wait for each other for ever",
                    "decide on a number that all workers have in common",
                )
                return


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


def tests_inside(event: Event, loops: set[int]) -> Iterator[cst.BaseExpression]:
    """The conditions inside the outermost of these loops on which an event depends."""
    inside = False
    for frame in event.stack:
        if isinstance(frame, Loop) and id(frame.node) in loops:
            inside = True
        elif inside and isinstance(frame, Branch) and isinstance(frame.node, cst.If):
            yield frame.node.test
