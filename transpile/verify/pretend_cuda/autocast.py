"""Mixed precision of GPUs: which operations CUDA's autocast casts, and to what.

https://docs.pytorch.org/docs/stable/amp.html#cuda-op-specific-behavior
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from transpile.verify.pretend_cuda.machine import torch
from transpile.verify.pretend_cuda.stamps import is_on_gpu, stamp, where

#: What is computed in the lower precision.
_LOWER = """
    matmul __matmul__ __rmatmul__ mm mv bmm addbmm addmm addmv addr baddbmm chain_matmul multi_dot
    linear conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d convolution
    prelu einsum scaled_dot_product_attention multi_head_attention_forward
    lstm gru rnn_tanh rnn_relu lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell
"""
LOWER = frozenset(_LOWER.split())
#: Of these, what the CPU computes in single precision alone.
RECURRENT = frozenset(name for name in LOWER if name.startswith(("lstm", "gru", "rnn")))
#: What is computed in single precision.
_SINGLE = """
    __pow__ __rpow__ pow __rdiv__ __rtruediv__ acos asin cosh sinh tan erfinv exp expm1 log log10
    log1p log2 reciprocal rsqrt softplus softmax log_softmax softmin cumprod cumsum prod sum norm
    renorm dist pdist cdist normalize layer_norm group_norm interpolate cosine_similarity
    binary_cross_entropy_with_logits cosine_embedding_loss cross_entropy nll_loss kl_div ctc_loss
    hinge_embedding_loss huber_loss l1_loss margin_ranking_loss mse_loss multilabel_margin_loss
    multi_margin_loss poisson_nll_loss smooth_l1_loss soft_margin_loss triplet_margin_loss
"""
SINGLE = frozenset(_SINGLE.split())
#: What is computed in the widest precision of what is given.
_WIDEST = """
    addcdiv addcmul atan2 bilinear cross dot grid_sample scatter_add tensordot cat stack
"""
WIDEST = frozenset(_WIDEST.split())
UNSAFE = (
    "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast. Many "
    "models use a sigmoid layer right before the binary cross entropy layer; "
    "binary_cross_entropy_with_logits is safe to autocast."
)

mapped, leaves = torch.utils._pytree.tree_map, torch.utils._pytree.tree_leaves


def install() -> None:
    """Let the contexts for CUDA cast what is on GPUs."""
    owner = torch.amp.autocast_mode.autocast
    plain_enter, plain_exit = owner.__enter__, owner.__exit__
    mode = torch.overrides.TorchFunctionMode
    casting = type("Casting", (mode,), {"__torch_function__": cast})

    @functools.wraps(plain_enter)
    def enter(self: Any) -> Any:
        found = plain_enter(self)
        if self.device == "cuda":
            self.__dict__.setdefault("pretended_casts", []).append(casting())
            self.pretended_casts[-1].__enter__()
        return found

    @functools.wraps(plain_exit)
    def leave(self: Any, *error: Any) -> Any:
        if self.device == "cuda":
            self.pretended_casts.pop().__exit__(*error)
        return plain_exit(self, *error)

    owner.__enter__, owner.__exit__ = enter, leave


def cast(self: Any, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """One function under CUDA's autocast."""
    kwargs = kwargs or {}
    name = getattr(function, "__name__", "")
    if not torch.is_autocast_enabled("cuda"):
        return function(*args, **kwargs)
    if name == "binary_cross_entropy" and any(map(is_on_gpu, leaves(args))):
        raise RuntimeError(UNSAFE)
    if name in RECURRENT and any_half_able(args):
        return in_lower_values(function, args, kwargs)
    dtype = wanted_type(name, args)
    if dtype is None:
        return function(*args, **kwargs)
    return function(*to_type(args, dtype), **to_type(kwargs, dtype))


def in_lower_values(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """What the CPU does not compute in the lower precision: computed on its values."""
    lower = torch.get_autocast_dtype("cuda")
    given = to_type(to_type((args, kwargs), lower), torch.float32)
    return to_type(function(*given[0], **given[1]), lower)


def wanted_type(name: str, args: Any) -> Any:
    """The type that a function computes in; None where it takes what it is given."""
    if name in LOWER:
        return torch.get_autocast_dtype("cuda")
    if name in SINGLE:
        return torch.float32
    if name in WIDEST:
        given = [one.dtype for one in leaves(args) if is_castable(one)]
        return functools.reduce(torch.promote_types, given) if given else None
    return None


def is_castable(value: Any) -> bool:
    """Whether autocast casts a value: floating numbers of a GPU that are no doubles."""
    return (
        isinstance(value, torch.Tensor)
        and is_on_gpu(value)
        and value.is_floating_point()
        and value.dtype is not torch.float64
    )


def any_half_able(args: Any) -> bool:
    """Whether autocast casts any of some arguments."""
    return any(map(is_castable, leaves(args)))


def to_type(values: Any, dtype: Any) -> Any:
    """Nested values, what autocast casts in another type."""

    def one(value: Any) -> Any:
        if not is_castable(value) or value.dtype is dtype:
            return value
        return stamp(value.to(dtype), where(value))

    return mapped(one, values)
