"""Layers: what has parameters that it makes when it sees its first input."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import autograd
from .tensor import Tensor


class Layer:
    """What computes, with the layers and parameters among its attributes."""

    def __init__(self) -> None:
        self.made = False

    def initialize(self, *inputs: Any) -> None:
        """Make the parameters for the shape of the first input."""

    def forward(self, *inputs: Any) -> Any:
        raise NotImplementedError

    def __call__(self, *inputs: Any, **kwargs: Any) -> Any:
        if not self.made:
            self.initialize(*inputs)
            self.made = True
        return self.forward(*inputs, **kwargs)

    def get_states(self) -> dict[str, Tensor]:
        """The parameters and statistics by dotted names."""
        found: dict[str, Tensor] = {}
        for name, value in vars(self).items():
            if isinstance(value, Layer):
                found |= {f"{name}.{inner}": one for inner, one in value.get_states().items()}
            elif isinstance(value, Tensor):
                found[name] = value
        return found

    def get_params(self) -> dict[str, Tensor]:
        return {name: one for name, one in self.get_states().items() if one.stores_grad}

    def set_states(self, states: dict[str, Tensor]) -> None:
        for name, one in self.get_states().items():
            one.copy_from(states[name])


def parameter(x: Tensor, *shape: int) -> Tensor:
    return Tensor(shape, x.device, requires_grad=True, stores_grad=True)


class Linear(Layer):
    def __init__(self, out_features: int, *args: Any, bias: bool = True, **kwargs: Any) -> None:
        super().__init__()
        # Older scripts give the length of the input first.
        self.out_features, self.bias = (args[0] if args else out_features), bias

    def initialize(self, x: Tensor) -> None:
        self.W = parameter(x, x.shape[1], self.out_features)
        self.W.gaussian(0.0, float(np.sqrt(2.0 / (x.shape[1] + self.out_features))))
        if self.bias:
            self.b = parameter(x, self.out_features)

    def forward(self, x: Tensor) -> Tensor:
        y = autograd.matmul(x, self.W)
        return autograd.add_bias(y, self.b) if self.bias else y


class Conv2d(Layer):
    def __init__(
        self,
        nb_kernels: int,
        kernel_size: int,
        *args: int,
        stride: int = 1,
        padding: int = 0,
        bias: bool = True,
        activation: str = "NOTACTIVATED",
    ) -> None:
        super().__init__()
        if args:
            nb_kernels, kernel_size = kernel_size, args[0]
        self.outputs, self.kernel = nb_kernels, kernel_size
        self.stride, self.padding, self.bias, self.activation = stride, padding, bias, activation

    def initialize(self, x: Tensor) -> None:
        self.W = parameter(x, self.outputs, x.shape[1], self.kernel, self.kernel)
        self.W.gaussian(0.0, float(np.sqrt(2.0 / (x.shape[1] * self.kernel**2))))
        if self.bias:
            self.b = parameter(x, 1, self.outputs, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        y = autograd.conv2d(x, self.W, self.stride, self.padding)
        y = autograd.add(y, self.b) if self.bias else y
        return autograd.relu(y) if self.activation == "RELU" else y


class BatchNorm2d(Layer):
    def __init__(self, *args: Any, momentum: float = 0.9) -> None:
        super().__init__()

    def initialize(self, x: Tensor) -> None:
        self.scale, self.bias = parameter(x, x.shape[1]), parameter(x, x.shape[1])
        self.scale.set_value(1.0)
        self.running_mean = Tensor((x.shape[1],), x.device)
        self.running_var = Tensor((x.shape[1],), x.device)
        self.running_var.set_value(1.0)

    def forward(self, x: Tensor) -> Tensor:
        return autograd.batchnorm_2d(x, self.scale, self.bias, self.running_mean, self.running_var)


class MaxPool2d(Layer):
    def __init__(self, kernel_size: int, stride: int | None = None, padding: int = 0) -> None:
        super().__init__()
        self.kernel, self.stride = kernel_size, stride or kernel_size

    def forward(self, x: Tensor) -> Tensor:
        return autograd.max_pool(x, self.kernel, self.stride)


class Dropout(Layer):
    def __init__(self, ratio: float = 0.5) -> None:
        super().__init__()
        self.ratio = ratio

    def forward(self, x: Tensor) -> Tensor:
        return autograd.dropout(x, self.ratio)


class Flatten(Layer):
    def __init__(self, axis: int = 1) -> None:
        super().__init__()
        self.axis = axis

    def forward(self, x: Tensor) -> Tensor:
        return autograd.flatten(x, self.axis)


class ReLU(Layer):
    def forward(self, x: Tensor) -> Tensor:
        return autograd.relu(x)


class Sigmoid(Layer):
    def forward(self, x: Tensor) -> Tensor:
        return autograd.sigmoid(x)


class Add(Layer):
    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return autograd.add(a, b)


class SoftMaxCrossEntropy(Layer):
    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        return autograd.softmax_cross_entropy(x, t)


class MeanSquareError(Layer):
    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        return autograd.mse_loss(x, t)
