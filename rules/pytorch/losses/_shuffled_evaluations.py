"""Evaluations whose batches each process shuffles for itself."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import Constant
from transpile.plan.flow.places import ancestors, function_of
from transpile.plan.model import Loader, Plan
from transpile.plan.models.modes import gradients_switched_off
from transpile.plan.roles.surroundings import gradients_off

#: Why nothing that belongs to the batch of one process may be averaged there.
SHUFFLED = (
    "evaluations go through it, too, on batches that each process shuffles for itself, which are "
    "no shares of one batch"
)


def is_shuffled(loader: Loader) -> bool:
    """Whether a loader draws its batches in random order."""
    shuffle, sampler = loader.argument("shuffle"), loader.argument("sampler")
    return any(
        argument is not None and any(value not in plain for value in argument.values)
        for argument, plain in (
            (shuffle, (Constant(False), Constant(None), Constant(0))),
            (sampler, (Constant(None),)),
        )
    )


def shuffled_evaluations(plan: Plan, module: Module, node: cst.CSTNode) -> Iterator[Event]:
    """What happens around a place with batches of an evaluation that are shuffled."""
    apart = {
        id(iteration.node)
        for loader in plan.loaders
        if not loader.training and is_shuffled(loader)
        for iteration in loader.iterations
    }
    if not apart:
        return
    function = function_of(module, node)
    around = {id(ancestor) for ancestor in ancestors(module, node)}
    for event in plan.facts.calls:
        if event.module is not module or function_of(module, event.node) is not function:
            continue
        for loop in event.loops():
            inside = loop.module is module and function_of(module, loop.node) is function
            if id(loop.node) in apart and (not inside or id(loop.node) in around):
                yield event


def evaluates_shuffled(plan: Plan, module: Module, node: cst.CSTNode) -> bool:
    """Whether a place is also come to with batches of an evaluation that are shuffled."""
    return any(shuffled_evaluations(plan, module, node))


def takes_gradients(plan: Plan, module: Module, node: cst.CSTNode) -> bool:
    """Whether gradients may be taken there, so that an evaluation looks like training."""
    return any(
        not gradients_off(event.stack, plan.table) and not gradients_switched_off(plan, event)
        for event in shuffled_evaluations(plan, module, node)
    )
