"""What a script makes once, however many processes run it: loaders and optimizers, by class."""

from __future__ import annotations

import libcst as cst

from transpile.arithmetic.loops import shortened
from transpile.plan.graph import called_names
from transpile.plan.model import Loader, Optimizer, Plan


def loaders_once(plan: Plan, *, training: bool) -> list[Loader]:
    """The loaders that train, or do not, one for each place that makes them."""
    found: dict[int, Loader] = {}
    for loader in plan.loaders:
        if loader.training is training and not loader.event.detached:
            found.setdefault(id(loader.node), loader)
    return list(found.values())


def optimizers_once(plan: Plan) -> list[Optimizer]:
    """The optimizers that update something, one for each place that makes them."""
    found: dict[int, Optimizer] = {}
    for optimizer in plan.optimizers:
        if optimizer.steps and not optimizer.event.detached:
            found.setdefault(id(optimizer.event.node), optimizer)
    return list(found.values())


def class_of(optimizer: Optimizer) -> str:
    """The class of an optimizer."""
    for value in optimizer.event.result:
        for dotted in called_names(value):
            return dotted.rpartition(".")[2]
    node = optimizer.event.node
    if isinstance(node, cst.Call):
        return shortened(words_of(optimizer.event.module.source.code(node.func)))
    return "optimizer"


def class_words(loader: Loader) -> str:
    """The class of a loader."""
    for dotted in called_names(loader.value):
        return dotted.rpartition(".")[2]
    return "loader"


def words_of(text: str) -> str:
    """A text on one line."""
    return " ".join(text.split())
