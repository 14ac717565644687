"""Files and messages, which know the GPU that a tensor was on."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from transpile.verify.pretend_cuda.machine import machine, torch
from transpile.verify.pretend_cuda.stamps import is_on_gpu, stamp, unstamp, where

#: The GPUs of storages while a file is written or read, by the place of their data.
storages: dict[int, Any] = {}
depth = 0
_REBUILD = "_rebuild_pretended"


def install() -> None:
    """Replace what writes and reads tensors."""
    for owner in (torch.Tensor, torch.nn.Parameter):
        owner.__reduce_ex__ = reducing(owner.__reduce_ex__)
    torch.serialization.register_package(5, location_of, restored)
    torch.UntypedStorage.cuda = on_gpu
    plain = torch._utils._rebuild_tensor

    def rebuild(storage: Any, *args: Any) -> Any:
        tensor = plain(storage, *args)
        device = storages.get(storage._untyped_storage.data_ptr())
        return tensor if device is None else stamp(tensor, device)

    torch._utils._rebuild_tensor = rebuild
    # Found again by its name, also where this package cannot be imported.
    rebuilt_on_gpu.__module__, rebuilt_on_gpu.__qualname__ = "torch._utils", _REBUILD
    setattr(torch._utils, _REBUILD, rebuilt_on_gpu)
    for name in ("save", "load"):
        setattr(torch, name, in_file(getattr(torch, name)))


def in_file(act: Callable[..., Any]) -> Callable[..., Any]:
    """A function that writes or reads a file."""

    @functools.wraps(act)
    def acting(*args: Any, **kwargs: Any) -> Any:
        global depth
        depth += 1
        try:
            return act(*args, **kwargs)
        finally:
            depth -= 1
            if not depth:
                storages.clear()

    return acting


def reducing(reduce: Callable[..., Any]) -> Callable[..., Any]:
    """How a tensor is taken apart: in a file by its storage, elsewhere with its GPU."""

    @functools.wraps(reduce)
    def taken_apart(tensor: Any, protocol: Any) -> Any:
        if not is_on_gpu(tensor):
            return reduce(tensor, protocol)
        device = where(tensor)
        if depth:
            storages[tensor.untyped_storage().data_ptr()] = device
        unstamp(tensor)
        try:
            parts = reduce(tensor, protocol)
        finally:
            stamp(tensor, device)
        if depth or isinstance(tensor, torch.nn.Parameter):
            return parts
        return rebuilt_on_gpu, (parts[0], parts[1], str(device))

    return taken_apart


def rebuilt_on_gpu(make: Callable[..., Any], parts: Any, device: str) -> Any:
    """A tensor that another process sent, on the GPU of that number in this process."""
    return stamp(make(*parts), machine.resolve(device))


def location_of(storage: Any) -> str | None:
    """What a file says of where a storage was."""
    device = storages.get(storage.data_ptr())
    return None if device is None else str(device)


def restored(storage: Any, location: str) -> Any:
    """A storage of a file on the GPU that it names; None for other places."""
    if not location.startswith("cuda"):
        return None
    number = torch.device(location).index or 0
    if not machine.seen():
        raise RuntimeError(
            "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is "
            "False."
        )
    if number >= machine.seen():
        raise RuntimeError(
            f"Attempting to deserialize object on CUDA device {number} but "
            f"torch.cuda.device_count() is {machine.seen()}."
        )
    return on_gpu(storage, location)


def on_gpu(storage: Any, device: Any = None, *args: Any, **kwargs: Any) -> Any:
    """``storage.cuda(...)``."""
    storages[storage.data_ptr()] = machine.resolve(device)
    return storage
