"""Where a script chooses the current GPU, or those that it sees."""

from __future__ import annotations

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import Constant, External, Values
from transpile.facts.walk import descendants
from transpile.plan.flow.places import ancestors
from transpile.plan.model import Plan
from transpile.rules.pytorch.devices._devices import follows_rank


def chosen(event: Event) -> Values | None:
    """What an event makes the current or the visible GPUs; None where it does not."""
    if event.kind == "call":
        names = {callee.name for callee in event.callee if isinstance(callee, External)}
        if "torch.cuda.set_device" in names or "torch.accelerator.set_device_index" in names:
            return tuple(v for item in event.arguments.items for v in item.values)
    if sees_fewer(event):
        return event.result if event.kind == "store" else ()
    return None


def sees_fewer(event: Event) -> bool:
    """Whether an event sets which GPUs this process sees."""
    if event.kind == "store" and isinstance(event.node, cst.Subscript):
        index = event.node.slice[0].slice if len(event.node.slice) == 1 else None
        return (
            External("os.environ") in event.callee
            and isinstance(index, cst.Index)
            and is_visible_devices(index.value)
        )
    if event.kind != "call" or not isinstance(event.node, cst.Call) or not event.node.args:
        return False
    return is_visible_devices(event.node.args[0].value) and any(
        isinstance(c, External) and c.name in ("os.environ.setdefault", "os.putenv")
        for c in event.callee
    )


def is_visible_devices(node: cst.CSTNode) -> bool:
    """Whether an expression is the name of the variable that hides GPUs."""
    return isinstance(node, cst.SimpleString) and node.evaluated_value == "CUDA_VISIBLE_DEVICES"


def behind_launcher_test(plan: Plan, module: Module, node: cst.CSTNode) -> bool:
    """Whether a place is on one arm of a test for the launcher or the number of processes."""
    for outer in module.source.parents(node):
        if isinstance(outer, cst.If) and (
            follows_rank(plan.facts.values_of(outer.test))
            or any(
                isinstance(value, Constant) and value.value == "RANK"
                for child in descendants(outer.test)
                for value in plan.facts.values_of(child)
            )
        ):
            return True
        if isinstance(outer, (cst.FunctionDef, cst.Lambda)):
            return False
    return False


def smallest(module: Module, node: cst.CSTNode) -> cst.CSTNode:
    """The small statement that a node is part of."""
    return next(
        outer for outer in ancestors(module, node) if isinstance(outer, cst.BaseSmallStatement)
    )
