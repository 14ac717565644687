"""Whether an MXNet script is for conversion: distributed already, or not training at all."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.plan.model import Plan
from transpile.rules.mxnet._roles import (
    fits,
    is_shared,
    stores,
    trainer_argument,
    trainers,
    training_loaders,
    unknown_fits,
    updates,
)
from transpile.rules.mxnet.stores._command_line import options_behind


def distributed(plan: Plan) -> str:
    """How a script shares a store already; empty where it does not."""
    for event in stores(plan):
        first = event.arguments.get("name", 0)
        if not event.detached and first is not None and is_shared(first.values):
            return "it makes a distributed store (mxnet.kvstore.create)"
        options = options_behind(plan, first.values) if first is not None else ()
        if not event.detached and any("dist" in default for _, _, default in options):
            return "it makes a distributed store unless an option says otherwise"
    for trainer in trainers(plan):
        argument = trainer_argument(trainer, "kvstore")
        if argument is not None and is_shared(argument.values):
            return "its trainer has a distributed store"
    for fit in fits(plan):
        argument = fit.argument("kvstore")
        if argument is not None and is_shared(argument.values):
            return f"{fit.word} has a distributed store"
    return ""


def trains(plan: Plan) -> bool:
    """Whether a trainer or a module is updated, or a call trains by itself."""
    seen = bool(updates(plan)) or any(fit.data for fit in fits(plan))
    return seen or bool(unknown_fits(plan))


def sites(plan: Plan) -> Iterator[tuple[str, Module, cst.CSTNode]]:
    """The places that some rule must claim, beside backward passes and steps."""
    for fit in fits(plan):
        yield fit.word, fit.event.module, fit.event.node
    for update in updates(plan):
        yield "update", update.event.module, update.event.node
    for loader in training_loaders(plan):
        yield "training loader", loader.event.module, loader.event.node
