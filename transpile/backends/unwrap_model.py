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
    a part of the wrapped model is replaced, or it is written as a part of an object.

Source:
    $wrap_source
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.backends.backend import Backend
from transpile.layout import wrap_expression
from transpile.plan.model import Plan
from transpile.plan.models.reaches import GROWING, Reach, reaches
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
    if plan.options.strategy != "ddp":
        # A sharded model keeps its class, and is reached as it is.
        return
    wraps: list[Wrap] = []
    for model in plan.trained_models:
        if wrapped_already(plan, model):
            continue
        found = find_wrap(plan, model)
        if isinstance(found, Wrap):
            wraps.append(found)
    seen: set[int] = set()
    for wrap in wraps:
        for reach in reaches(plan, wrap, backend.wrapper, backend.in_place(plan, wrap)):
            if id(reach.node) in seen:
                continue
            seen.add(id(reach.node))
            if reach.replaced:
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
