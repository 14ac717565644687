"""Reach the model itself, not its wrap, where more than a call is wanted.

What:
    Once a model is wrapped, its attributes, items and methods, saving and copying it, and handing
    it to code that looks at it go through ``unwrap(model)``. What ``DataParallel`` does as the
    model would (``state_dict``, ``train``, ``eval``, ``parameters``) stays as it is.

Why:
    ``DataParallel`` has none of the model's own attributes.

Before:
    paddle.summary(model, (1, 4))

After:
    paddle.summary(unwrap(model), (1, 4))

Refuses when:
    a part of the wrapped model is replaced.

Source:
    https://www.paddlepaddle.org.cn/documentation/docs/en/api/paddle/DataParallel_en.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.layout import wrap_expression
from transpile.plan.model import Plan
from transpile.plan.models.reaches import Reach, Wrapper, reaches
from transpile.plan.models.wraps import Wrap, find_wrap, wrapped_already
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings

CODES = {
    "PD311": "the model is reached behind its wrap",
    "PD312": "a part of a wrapped model is replaced",
}
WRAPPER = Wrapper(
    same=frozenset(
        {
            "train", "eval", "parameters", "buffers", "state_dict", "set_state_dict", "set_dict",
            "load_dict", "training", "no_sync", "clear_gradients", "__call__", "forward", "apply",
            "_layers",
        }
    ),
    harmless=(
        "paddle.optimizer.", "paddle.DataParallel", "paddle.distributed.fleet.",
        "paddle.nn.SyncBatchNorm", "paddle.nn.utils.clip_grad", "builtins.isinstance",
    ),
)  # fmt: skip


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each place that looks into a wrapped model."""
    seen: set[int] = set()
    for model in plan.trained_models:
        if wrapped_already(plan, model):
            continue
        wrap = find_wrap(plan, model)
        if not isinstance(wrap, Wrap):
            continue
        for reach in reaches(plan, wrap, WRAPPER):
            if id(reach.node) in seen:
                continue
            seen.add(id(reach.node))
            if reach.replaced:
                yield Ruling.refuse(
                    "PD312",
                    reach,
                    f"'{reach.name}' of the model is replaced after the model is ready for "
                    "training",
                    "replace parts of the model before the optimizer is made",
                )
                continue
            yield Ruling.apply(
                "PD311", reach, "the model itself is wanted here, not its wrap", data=reach
            )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The expression within ``unwrap(...)``."""
    data: Reach = ruling.data
    yield Helper("unwrap", data.module)
    unwrap = plan.names_in(data.module).fresh("unwrap")
    for edit in wrap_expression(data.module.source, data.node, f"{unwrap}(", ")"):
        yield In(data.module, edit)
