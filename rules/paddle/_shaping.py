"""What of Paddle gives tensors their shapes."""

from __future__ import annotations

from transpile.plan.shaping import (
    DRAWS,
    NUMPY_ALIKE,
    NUMPY_FILLED,
    NUMPY_JOINS,
    NUMPY_MADE,
    NUMPY_SHAPED,
    Shaping,
)

FILLED = frozenset(
    {
        "paddle.zeros", "paddle.ones", "paddle.full", "paddle.empty", "paddle.rand",
        "paddle.randn", "paddle.standard_normal", "paddle.uniform", "paddle.gaussian",
    }
)  # fmt: skip
#: What makes rows of another argument than the first, or rows that are all different.
MADE = frozenset(
    {
        "paddle.randint", "paddle.normal", "paddle.log_normal", "paddle.arange", "paddle.linspace",
        "paddle.logspace", "paddle.randperm", "paddle.eye",
    }
)  # fmt: skip
VIEWS = frozenset({"view", "reshape", "reshape_", "expand"})
SHAPING = Shaping(
    callables=FILLED
    | MADE
    | NUMPY_SHAPED
    | {
        "paddle.reshape", "paddle.expand", "paddle.broadcast_to", "paddle.tile", "paddle.split",
        "paddle.view", "paddle.repeat_interleave", "paddle.crop", "paddle.slice",
    },
    filled=FILLED | NUMPY_FILLED,
    viewing=frozenset(
        {"paddle.reshape", "paddle.expand", "paddle.broadcast_to", "paddle.view"}
    ),
    methods=VIEWS | {"tile", "broadcast_to", "repeat_interleave", "split", "unflatten"},
    views=VIEWS,
    made=NUMPY_MADE | MADE,
    draws=DRAWS,
    alike=NUMPY_ALIKE | {"paddle.zeros", "paddle.ones", "paddle.full", "paddle.empty"},
    joins=NUMPY_JOINS | {"paddle.stack", "paddle.concat", "paddle.to_tensor"},
)  # fmt: skip
