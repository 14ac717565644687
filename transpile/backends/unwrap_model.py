"""Reach the model itself, not its wrap, where more than a call is wanted.

What:
    Once a model is wrapped, its attributes, items and methods, saving and copying it, and handing
    it to code that looks at it go through ``unwrap(model)``.

Why:
    $wrap_lacks

Before:
    $reaching

After:
    $reaching_behind

Refuses when:
    a layer or parameter comes into the model once it is wrapped, and it is trained further, or
    it is written as a part of an object.

Source:
    $wrap_source
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.backends.backend import Backend
from transpile.layout import wrap_expression
from transpile.plan.model import Plan
from transpile.plan.models.late_parts import GROWING, empty_parts, is_trained_behind, late_parts
from transpile.plan.models.reaches import Reach, reaches
from transpile.plan.models.wraps import Wrap, find_wrap, wrapped_already
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings

CODES = {
    "311": "the model is reached behind its wrap",
    "312": "a part of a wrapped model is replaced",
    "315": "a wrapped model is written as a part of something else",
}
LEAVES = ("none", "horovod")


def decide(backend: Backend, plan: Plan) -> Iterator[Answer]:
    """One answer for each place that looks into a wrapped model."""
    wraps: list[Wrap] = []
    for model in plan.trained_models:
        if wrapped_already(plan, model):
            continue
        found = find_wrap(plan, model)
        if isinstance(found, Wrap):
            wraps.append(found)
    seen: set[int] = set()
    for wrap in wraps:
        yield from grown(backend, plan, wrap, seen)
        # A sharded model keeps its class, and is reached as it is.
        if plan.options.strategy == "ddp":
            yield from reached(backend, plan, wrap, seen)


def grown(backend: Backend, plan: Plan, wrap: Wrap, seen: set[int]) -> Iterator[Ruling]:
    """One error for each place that puts layers or parameters into a wrapped model.

    Args:
        backend: the framework's.
        plan: the plan.
        wrap: the wrap.
        seen: the identities of nodes that are told of already; those of this wrap are added.
    """
    for model in wrap.models:
        for event in late_parts(plan, model, wrap.order):
            if id(event.node) in seen:
                continue
            seen.add(id(event.node))
            target = event.node.func if isinstance(event.node, cst.Call) else event.node
            if isinstance(target, (cst.Attribute, cst.Subscript)):
                seen.add(id(target.value))
            yield Ruling.refuse(
                f"{backend.prefix}312",
                event,
                "a layer or parameter comes into the model here once it is ready for training, "
                "whose gradients the wrap would not average",
                "make all parts of the model before the optimizer is made",
            )
        for event in empty_parts(plan, model, wrap.order):
            if id(event.node) not in seen:
                seen.add(id(event.node))
                yield Ruling.refuse(
                    f"{backend.prefix}312",
                    event,
                    "this layer has no parameters before its first call, and a model is not "
                    "wrapped without them",
                    "call the model once, with a few samples, before the optimizer is made",
                )


def reached(backend: Backend, plan: Plan, wrap: Wrap, seen: set[int]) -> Iterator[Answer]:
    """One answer for each place that looks into the model of a wrap."""
    for reach in reaches(plan, wrap, backend.wrapper, backend.in_place(plan, wrap)):
        if id(reach.node) in seen:
            continue
        seen.add(id(reach.node))
        if reach.replaced and goes_on(plan, reach):
            done = "puts a part into the model" if reach.name in GROWING else "is replaced"
            yield Ruling.refuse(
                f"{backend.prefix}312",
                reach,
                f"'{reach.name}' of the model {done} after the model is ready for training",
                "replace parts of the model before the optimizer is made",
            )
            continue
        if reach.because:
            yield Ruling.refuse(
                f"{backend.prefix}315",
                reach,
                f"{reach.because}, which would then need a process group to be read",
                "write the model's state_dict()",
            )
            continue
        yield Ruling.apply(
            f"{backend.prefix}311",
            reach,
            "the model itself is wanted here, not its wrap",
            data=reach,
        )


def goes_on(plan: Plan, reach: Reach) -> bool:
    """Whether the model may be trained behind the place that replaces a part of it."""
    events = [
        event
        for event in plan.facts.events
        if event.node is reach.module.source.parent(reach.node)
        or (isinstance(event.node, cst.Call) and is_called_on(event.node, reach.node))
    ]
    return not events or any(event.detached or is_trained_behind(plan, event) for event in events)


def is_called_on(node: cst.Call, base: cst.CSTNode) -> bool:
    """Whether a call is one of a method of what an expression gives."""
    return isinstance(node.func, cst.Attribute) and node.func.value is base


def edits(backend: Backend, plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The expression within ``unwrap(...)``."""
    data: Reach = ruling.data
    span = data.module.source.span(data.node)
    if any(gone.contains(span) for gone in backend.removed(rulings, data.module)):
        return
    yield Helper("unwrap", data.module)
    unwrap = plan.names_in(data.module).fresh("unwrap")
    for edit in wrap_expression(data.module.source, data.node, f"{unwrap}(", ")"):
        yield In(data.module, edit)
