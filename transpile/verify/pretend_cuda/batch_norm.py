"""The kernels of ``SyncBatchNorm``, which only CUDA has."""

from __future__ import annotations

import warnings
from typing import Any

from transpile.verify.pretend_cuda.machine import torch

libraries: list[Any] = []


def install() -> None:
    """Give the CPU the kernels."""
    kernels = {
        "batch_norm_stats": statistics,
        "batch_norm_gather_stats_with_counts": gathered,
        "batch_norm_elemt": normalised,
        "batch_norm_backward_reduce": reduced_gradients,
        "batch_norm_backward_elemt": gradient,
    }
    library = torch.library.Library("aten", "IMPL")
    # Freed, it would take the kernels away again.
    libraries.append(library)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, kernel in kernels.items():
            library.impl(name, kernel, "CPU")


def by_channel(x: Any) -> Any:
    """All values of each channel."""
    return x.transpose(0, 1).reshape(x.shape[1], -1).to(torch.promote_types(x.dtype, torch.float))


def shaped(values: Any, like: Any) -> Any:
    """One value for each channel, in the shape of an input."""
    return values.reshape([1, -1] + [1] * (like.dim() - 2))


def statistics(x: Any, eps: float) -> Any:
    """Mean and inverse deviation of each channel."""
    values = by_channel(x)
    return values.mean(1), (values.var(1, unbiased=False) + eps).rsqrt()


def gathered(
    x: Any, mean: Any, inverse: Any, running_mean: Any, running_variance: Any,
    momentum: float, eps: float, counts: Any,
) -> Any:  # fmt: skip
    """The statistics of all processes together, from those of each."""
    total, weights = counts.sum(), counts.reshape(-1, 1)
    whole = (weights * mean).sum(0) / total
    variance = (weights * (inverse**-2 - eps + (mean - whole) ** 2)).sum(0) / total
    if running_mean is not None:
        running_mean.mul_(1 - momentum).add_(momentum * whole)
    if running_variance is not None:
        unbiased = variance * total / (total - 1)
        running_variance.mul_(1 - momentum).add_(momentum * unbiased)
    return whole, (variance + eps).rsqrt()


def normalised(x: Any, weight: Any, bias: Any, mean: Any, inverse: Any, eps: float) -> Any:
    """The output."""
    y = (x - shaped(mean, x)) * shaped(inverse, x)
    if weight is not None:
        y = y * shaped(weight, x)
    if bias is not None:
        y = y + shaped(bias, x)
    return y.to(x.dtype)


def reduced_gradients(
    dy: Any, x: Any, mean: Any, inverse: Any, weight: Any, inputs: bool, weights: bool, biases: bool
) -> Any:
    """The sums that the gradient is made of, and the gradients of weight and bias."""
    gradients, centred = by_channel(dy), by_channel(x) - mean.reshape(-1, 1)
    sum_dy, sum_dy_x = gradients.sum(1), (gradients * centred).sum(1)
    return sum_dy, sum_dy_x, sum_dy_x * inverse, sum_dy.clone()


def gradient(
    dy: Any, x: Any, mean: Any, inverse: Any, weight: Any, sum_dy: Any, sum_dy_x: Any, counts: Any
) -> Any:
    """The gradient of the input."""
    total = counts.sum()
    centred = x - shaped(mean, x)
    share = centred * shaped(inverse**2 * sum_dy_x / total, x)
    found = (dy - shaped(sum_dy / total, x) - share) * shaped(inverse, x)
    if weight is not None:
        found = found * shaped(weight, x)
    return found.to(x.dtype)
