"""What of Paddle gives tensors their shapes."""

from __future__ import annotations

from transpile.plan.shaping import NUMPY_ALIKE, NUMPY_FILLED, NUMPY_JOINS, NUMPY_SHAPED, Shaping

FILLED = frozenset(
    {
        "paddle.zeros", "paddle.ones", "paddle.full", "paddle.empty", "paddle.rand",
        "paddle.randn", "paddle.standard_normal",
    }
)  # fmt: skip
VIEWS = frozenset({"view", "reshape", "reshape_", "expand"})
SHAPING = Shaping(
    callables=FILLED
    | NUMPY_SHAPED
    | {
        "paddle.randint", "paddle.normal", "paddle.uniform", "paddle.gaussian", "paddle.arange",
        "paddle.eye", "paddle.reshape", "paddle.expand", "paddle.broadcast_to", "paddle.tile",
        "paddle.split", "paddle.view", "paddle.repeat_interleave", "paddle.crop", "paddle.slice",
    },
    filled=FILLED | NUMPY_FILLED,
    viewing=frozenset(
        {"paddle.reshape", "paddle.expand", "paddle.broadcast_to", "paddle.view"}
    ),
    methods=VIEWS | {"tile", "broadcast_to", "repeat_interleave", "split", "unflatten"},
    views=VIEWS,
    alike=NUMPY_ALIKE | {"paddle.zeros", "paddle.ones", "paddle.full", "paddle.empty"},
    joins=NUMPY_JOINS | {"paddle.stack", "paddle.concat", "paddle.to_tensor"},
)  # fmt: skip
