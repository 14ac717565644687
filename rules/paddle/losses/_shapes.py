"""Shapes of one process's share of a batch that are shown."""

from __future__ import annotations

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import External
from transpile.facts.walk import children
from transpile.quantity.domain import Kind
from transpile.rules.paddle.losses._leaves import Doubt, Numbers
from transpile.rules.paddle.losses._shares import Shares

#: How many dimensions there are is no matter of the share.
LENGTH = External("builtins.len")


def note_shapes(found: Numbers, after: Shares, event: Event, node: cst.CSTNode) -> None:
    """Find the shapes in an expression that is shown."""
    values_of = after.plan.facts.values_of
    if isinstance(node, (cst.Subscript, cst.Comparison)):
        return
    if isinstance(node, cst.Call) and LENGTH in values_of(node.func):
        return
    values = values_of(node)
    if values and all(after.of((value,)).kind is Kind.SHAPE for value in values):
        reason = "this is the shape of one process's share of the batch"
        found.shapes[id(node)] = Doubt(event.module, node, reason)
        return
    for child in children(node):
        note_shapes(found, after, event, child)
