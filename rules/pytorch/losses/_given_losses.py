"""Losses that models of libraries give, weighed by how many of their labels are this process's."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.plan.model import Plan
from transpile.quantity.asking import Pending
from transpile.rule import Change, Helper
from transpile.rules.pytorch.losses._multiples import is_simple, surrounded
from transpile.rules.pytorch.losses._shuffled_evaluations import SHUFFLED, takes_gradients

HELPER = "weigh_loss_by_labels"


def labels_obstacle(plan: Plan, pending: Pending) -> str:
    """Why the loss of a call cannot be weighed by its labels; empty where it can."""
    assert isinstance(pending.node, cst.Call)
    if takes_gradients(plan, pending.module, pending.node):
        return str(SHUFFLED)
    if not labels_of(pending):
        return "its labels are computed in the call, or unpacked from something that has no name"
    return ""


def labels_of(pending: Pending) -> str:
    """The text of the labels that a model is given; empty where it can be said in no few words."""
    assert isinstance(pending.node, cst.Call)
    source = pending.module.source
    for given in pending.node.args:
        if given.keyword is not None and given.keyword.value == "labels":
            return source.code(given.value) if is_simple(given.value) else ""
    unpacked = [given.value for given in pending.node.args if given.star == "**"]
    if len(unpacked) == 1 and is_simple(unpacked[0]):
        return f'{source.code(unpacked[0])}["labels"]'
    return ""


def weighed_by_labels(plan: Plan, pending: Pending) -> Iterator[Change]:
    """The call of a model, given to a helper that weighs the loss among its outputs."""
    assert isinstance(pending.node, cst.Call)
    yield Helper(HELPER, pending.module)
    name = plan.names_in(pending.module).fresh(HELPER)
    shifted = ", shift=True" if pending.shifted else ""
    after = f", {labels_of(pending)}{shifted})"
    yield from surrounded(pending.module, pending.node, f"{name}(", after)
