"""Tensors, and their way to NumPy and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from .device import Device, get_default_device

float16, float32, int32 = "float16", "float32", "int32"
_TYPES = {float16: np.float16, float32: np.float32, int32: np.int32}


class CTensor:
    """The memory of a tensor on its device."""

    def __init__(self, array: Any, device: Device) -> None:
        self.array, self.device = array, device


class Tensor:
    """An array on a device, which may know what it was computed from."""

    def __init__(
        self,
        shape: Any = (),
        device: Device | None = None,
        dtype: str = float32,
        data: Any = None,
        requires_grad: bool = True,
        stores_grad: bool = False,
        creator: Any = None,
        name: str | None = None,
    ) -> None:
        array = np.zeros(shape) if data is None else np.array(data, dtype=np.float64)
        self.data = CTensor(array, device or get_default_device())
        self.dtype = dtype
        self.requires_grad, self.stores_grad = requires_grad, stores_grad
        self.creator, self.name = creator, name

    @property
    def array(self) -> Any:
        return self.data.array

    @property
    def device(self) -> Device:
        return self.data.device

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.array.shape)

    def ndim(self) -> int:
        return int(self.array.ndim)

    def size(self) -> int:
        return int(self.array.size)

    def copy_from_numpy(self, np_array: Any, offset: int = 0) -> None:
        assert np_array.size == self.size(), "tensor shape should be the same"
        self.array[...] = np_array.reshape(self.shape)

    def copy_from(self, other: Tensor, offset: int = 0) -> None:
        self.array[...] = other.array

    def set_value(self, value: float, inplace: bool = True) -> None:
        self.array[...] = value

    def gaussian(self, mean: float, std: float, inplace: bool = True) -> None:
        self.array[...] = self.device.random.normal(mean, std, self.shape)

    def uniform(self, low: float, high: float, inplace: bool = True) -> None:
        self.array[...] = self.device.random.uniform(low, high, self.shape)

    def to_device(self, device: Device) -> None:
        self.data.device = device

    def to_host(self) -> None:
        self.to_device(get_default_device())

    def as_type(self, dtype: str) -> Tensor:
        return Tensor(data=self.array, device=self.device, dtype=dtype)

    def clone(self) -> Tensor:
        return self.as_type(self.dtype)

    def l2(self) -> float:
        return float(np.linalg.norm(self.array) / self.size())

    def __itruediv__(self, number: float) -> Tensor:
        self.array[...] /= number
        return self

    def __imul__(self, number: float) -> Tensor:  # type: ignore[misc]
        self.array[...] *= number
        return self

    def __add__(self, other: Any) -> Any:
        from . import autograd

        return autograd.add(self, other)

    def __sub__(self, other: Any) -> Any:
        from . import autograd

        return autograd.sub(self, other)

    def __mul__(self, other: Any) -> Any:
        from . import autograd

        return autograd.mul(self, other)

    __rmul__ = __mul__


def from_numpy(np_array: Any, dev: Device | None = None) -> Tensor:
    assert type(np_array) is np.ndarray, "Must input numpy array"
    dtype = int32 if np_array.dtype.kind == "i" else float32
    return Tensor(data=np_array, dtype=dtype, device=dev)


def to_numpy(t: Tensor) -> Any:
    return t.array.astype(_TYPES[t.dtype])


def to_host(t: Tensor) -> Tensor:
    return Tensor(data=t.array, dtype=t.dtype)


def gaussian(mean: float, std: float, t: Tensor) -> None:
    t.gaussian(mean, std)


def uniform(low: float, high: float, t: Tensor) -> None:
    t.uniform(low, high)
