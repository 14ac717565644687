"""The device that a tensor pretends to be on."""

from __future__ import annotations

from typing import Any

from transpile.verify.pretend_cuda.machine import CPU, machine, torch

_STAMP = "_pretended_device"
_PINNED = "_pretended_pinned"
#: Of tensors that the backward pass makes out of nothing: they go with any device.
ANY_DEVICE = "any"

base = torch._C.TensorBase
plain_device = base.device.__get__


def where(tensor: Any) -> Any:
    """The device that a tensor pretends to be on; the CPU for what is no tensor."""
    if not isinstance(tensor, torch.Tensor):
        return CPU
    return tensor.__dict__.get(_STAMP, CPU)


def stamp(tensor: Any, device: Any) -> Any:
    """Let a tensor pretend to be on a device; gives it back."""
    if isinstance(tensor, torch.Tensor):
        tensor.__dict__[_STAMP] = device
    return tensor


def unstamp(tensor: Any) -> Any:
    """Take the stamp off; gives it, or None."""
    return tensor.__dict__.pop(_STAMP, None)


def is_on_gpu(tensor: Any) -> bool:
    """Whether a tensor pretends to be on a GPU."""
    device = where(tensor)
    return device is not ANY_DEVICE and device.type == "cuda"


def pinned(tensor: Any) -> Any:
    """Let a tensor of the CPU pretend to be in memory that GPUs reach; gives it back."""
    tensor.__dict__[_PINNED] = True
    return tensor


def is_pinned(tensor: Any) -> bool:
    """Whether a tensor pretends to be in such memory."""
    return _PINNED in tensor.__dict__


def shown(tensor: Any) -> Any:
    """The device that a script is shown."""
    device = where(tensor)
    return device if is_on_gpu(tensor) else plain_device(tensor)


def as_device(device: Any) -> Any:
    """A device argument as a device with its number; None where it is none."""
    return None if device is None else machine.resolve(device)
