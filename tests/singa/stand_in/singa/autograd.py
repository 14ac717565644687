"""Operations that know their gradients, and the backward pass through them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .tensor import Tensor

training = False


class Operation:
    """How a tensor was computed, and what that means for gradients."""

    def __init__(self, inputs: list[Tensor], backward: Callable[[Any], tuple[Any, ...]]) -> None:
        self.inputs, self.backward = inputs, backward


def made(array: Any, inputs: list[Tensor], backward: Callable[[Any], tuple[Any, ...]]) -> Tensor:
    """A tensor that was computed; all that it is computed from is on one device."""
    devices = {(one.device.kind, one.device.number) for one in inputs}
    if len(devices) > 1:
        raise RuntimeError(f"tensors of several devices: {devices}")
    creator = Operation(inputs, backward) if training else None
    return Tensor(data=array, device=inputs[0].device, creator=creator)


def backward(y: Tensor, dy: Any = None) -> Iterator[tuple[Tensor, Tensor]]:
    """The parameters that a loss depends on, each with its gradient."""
    order: list[Tensor] = []
    seen: set[int] = set()

    def visit(one: Tensor) -> None:
        if id(one) in seen:
            return
        seen.add(id(one))
        for behind in one.creator.inputs if one.creator else ():
            visit(behind)
        order.append(one)

    visit(y)
    gradients: dict[int, Any] = {id(y): np.ones_like(y.array)}
    for one in reversed(order):
        gradient = gradients.get(id(one))
        if gradient is None:
            continue
        if one.stores_grad:
            yield one, Tensor(data=gradient, device=one.device)
        if one.creator is not None:
            for behind, part in zip(
                one.creator.inputs, one.creator.backward(gradient), strict=True
            ):
                if part is not None:
                    gradients[id(behind)] = gradients.get(id(behind), 0) + part


def reduced(gradient: Any, shape: tuple[int, ...]) -> Any:
    """The gradient of what was broadcast."""
    while gradient.ndim > len(shape):
        gradient = gradient.sum(axis=0)
    for axis, length in enumerate(shape):
        if length == 1 and gradient.shape[axis] != 1:
            gradient = gradient.sum(axis=axis, keepdims=True)
    return gradient


def constant(x: Any, like: Tensor) -> Tensor:
    return x if isinstance(x, Tensor) else Tensor(data=np.float64(x), device=like.device)


def add(a: Tensor, b: Any) -> Tensor:
    b = constant(b, a)
    return made(a.array + b.array, [a, b], lambda g: (reduced(g, a.shape), reduced(g, b.shape)))


def sub(a: Tensor, b: Any) -> Tensor:
    b = constant(b, a)
    return made(a.array - b.array, [a, b], lambda g: (reduced(g, a.shape), -reduced(g, b.shape)))


def mul(a: Tensor, b: Any) -> Tensor:
    b = constant(b, a)
    return made(
        a.array * b.array,
        [a, b],
        lambda g: (reduced(g * b.array, a.shape), reduced(g * a.array, b.shape)),
    )


def matmul(x: Tensor, w: Tensor) -> Tensor:
    return made(x.array @ w.array, [x, w], lambda g: (g @ w.array.T, x.array.T @ g))


def add_bias(x: Tensor, b: Tensor, axis: int = 0) -> Tensor:
    return add(x, b)


def relu(x: Tensor) -> Tensor:
    return made(np.maximum(x.array, 0), [x], lambda g: (g * (x.array > 0),))


def sigmoid(x: Tensor) -> Tensor:
    y = 1 / (1 + np.exp(-x.array))
    return made(y, [x], lambda g: (g * y * (1 - y),))


def tanh(x: Tensor) -> Tensor:
    y = np.tanh(x.array)
    return made(y, [x], lambda g: (g * (1 - y * y),))


def flatten(x: Tensor, axis: int = 1) -> Tensor:
    y = x.array.reshape(int(np.prod(x.shape[:axis])), -1)
    return made(y, [x], lambda g: (g.reshape(x.shape),))


def reshape(x: Tensor, shape: Any) -> Tensor:
    return made(x.array.reshape(shape), [x], lambda g: (g.reshape(x.shape),))


def cat(xs: list[Tensor], axis: int = 0) -> Tensor:
    ends = np.cumsum([x.shape[axis] for x in xs])[:-1]
    y = np.concatenate([x.array for x in xs], axis)
    return made(y, list(xs), lambda g: tuple(np.split(g, ends, axis)))


def reduce_sum(x: Tensor, axes: Any = None, keepdims: int = 1) -> Tensor:
    axes = tuple(range(x.ndim())) if axes is None else tuple(axes)
    y = x.array.sum(axis=axes, keepdims=True)
    kept = y if keepdims else y.squeeze(axes)
    return made(kept, [x], lambda g: (np.broadcast_to(g.reshape(y.shape), x.shape),))


def dropout(x: Tensor, ratio: float = 0.5) -> Tensor:
    if not training:
        return x
    mask = (x.device.random.uniform(size=x.shape) >= ratio) / (1 - ratio)
    return made(x.array * mask, [x], lambda g: (g * mask,))


def softmax_cross_entropy(x: Tensor, t: Tensor) -> Tensor:
    count, classes = x.shape
    powers = np.exp(x.array - x.array.max(axis=1, keepdims=True))
    p = powers / powers.sum(axis=1, keepdims=True)
    one_hot = np.eye(classes)[t.array.astype(int)] if t.ndim() == 1 else t.array
    loss = -(one_hot * np.log(p)).sum() / count
    return made(np.array([loss]), [x, t], lambda g: ((p - one_hot) / count, None))


def mse_loss(x: Tensor, t: Tensor) -> Tensor:
    assert x.shape == t.shape
    error = x.array - t.array
    loss = np.array([(error**2).sum() / error.size])
    return made(loss, [x, t], lambda g: (2 * error / error.size * g, None))


def windows_of(array: Any, k: int) -> Any:
    """All squares of k rows and columns of images."""
    slide: Any = np.lib.stride_tricks.sliding_window_view
    return slide(array, (k, k), axis=(2, 3))


def conv2d(x: Tensor, w: Tensor, stride: int = 1, padding: int = 0) -> Tensor:
    """The convolution of (samples, channels, rows, columns) with (outputs, channels, k, k)."""
    k = w.shape[2]
    edge = ((0, 0), (0, 0), (padding, padding), (padding, padding))
    padded = np.pad(x.array, edge)
    windows = windows_of(padded, k)
    windows = windows[:, :, ::stride, ::stride]
    y = np.einsum("nchwij,ocij->nohw", windows, w.array, optimize=True)

    def gradients(g: Any) -> tuple[Any, Any]:
        of_w = np.einsum("nchwij,nohw->ocij", windows, g, optimize=True)
        of_x = np.zeros_like(padded)
        rows, columns = g.shape[2:]
        for i in range(k):
            for j in range(k):
                part = np.einsum("nohw,oc->nchw", g, w.array[:, :, i, j], optimize=True)
                of_x[
                    :, :, i : i + rows * stride : stride, j : j + columns * stride : stride
                ] += part
        inside = slice(padding, -padding or None)
        return of_x[:, :, inside, inside], of_w

    return made(y, [x, w], gradients)


def max_pool(x: Tensor, k: int, stride: int) -> Tensor:
    windows = windows_of(x.array, k)
    windows = windows[:, :, ::stride, ::stride]
    y = windows.max(axis=(4, 5))

    def gradients(g: Any) -> tuple[Any]:
        of_x = np.zeros_like(x.array)
        best = windows.reshape(*y.shape, -1).argmax(axis=-1)
        n, c, h, w = np.indices(y.shape)
        np.add.at(of_x, (n, c, h * stride + best // k, w * stride + best % k), g)
        return (of_x,)

    return made(y, [x], gradients)


def batchnorm_2d(x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, var: Tensor) -> Tensor:
    """Batch norm of images over the samples that are given; without gradients of statistics."""
    shape = (1, -1, 1, 1)
    if training:
        m, v = x.array.mean(axis=(0, 2, 3)), x.array.var(axis=(0, 2, 3))
        mean.array[...] = 0.9 * mean.array + 0.1 * m
        var.array[...] = 0.9 * var.array + 0.1 * v
    else:
        m, v = mean.array, var.array
    std = np.sqrt(v + 1e-5).reshape(shape)
    normal = (x.array - m.reshape(shape)) / std

    def gradients(g: Any) -> tuple[Any, Any, Any]:
        of_scale, of_bias = (g * normal).sum(axis=(0, 2, 3)), g.sum(axis=(0, 2, 3))
        return g * scale.array.reshape(shape) / std, of_scale, of_bias

    return made(
        normal * scale.array.reshape(shape) + bias.array.reshape(shape), [x, scale, bias], gradients
    )
