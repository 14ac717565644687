"""What of PyTorch gives tensors their shapes."""

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
        "torch.zeros", "torch.ones", "torch.full", "torch.empty", "torch.rand", "torch.randn",
        "torch.FloatTensor", "torch.cuda.FloatTensor",
    }
)  # fmt: skip
VIEWS = frozenset({"view", "reshape", "expand", "resize_"})
SHAPING = Shaping(
    callables=FILLED
    | NUMPY_SHAPED
    | {
        "torch.randint", "torch.normal", "torch.Tensor", "torch.arange", "torch.eye",
        "torch.LongTensor", "torch.cuda.LongTensor", "torch.reshape", "torch.split",
        "torch.randperm", "torch.linspace",
    },
    filled=FILLED | NUMPY_FILLED,
    viewing=frozenset({"torch.reshape"}),
    methods=VIEWS
    | {
        "new_zeros", "new_ones", "new_full", "new_empty", "new", "repeat", "repeat_interleave",
        "unflatten", "split",
    },
    views=VIEWS,
    made=NUMPY_MADE
    | {
        "torch.randint", "torch.normal", "torch.arange", "torch.linspace", "torch.randperm",
        "torch.eye",
    },
    draws=DRAWS,
    alike=NUMPY_ALIKE
    | {
        "torch.zeros", "torch.ones", "torch.full", "torch.empty", "torch.FloatTensor",
        "torch.cuda.FloatTensor",
    },
    joins=NUMPY_JOINS
    | {"torch.stack", "torch.cat", "torch.tensor", "torch.as_tensor", "torch.vstack"},
)  # fmt: skip
