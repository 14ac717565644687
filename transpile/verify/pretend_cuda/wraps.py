"""``DistributedDataParallel`` over the pretended GPUs."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from transpile.verify.pretend_cuda.collectives import backend_of, c10d, inside, meet
from transpile.verify.pretend_cuda.machine import machine, torch


def install() -> None:
    """Check what is wrapped, and let hooks see the buckets, which have no device."""
    owner = torch.nn.parallel.DistributedDataParallel
    owner.__init__ = wrapping(owner.__init__)
    owner.register_comm_hook = registering(owner.register_comm_hook)


def wrapping(wrap: Callable[..., Any]) -> Callable[..., Any]:
    """The wrap's checks of devices."""

    @functools.wraps(wrap)
    def wrapped(self: Any, module: Any, *args: Any, **kwargs: Any) -> None:
        group = kwargs.get("process_group") or c10d._get_default_group()
        backend = backend_of(group)
        devices = {parameter.device for parameter in module.parameters()}
        chosen = kwargs.get("device_ids") or (args[0] if args else None)
        # The wrap itself says what is wrong with devices of several kinds, or with those chosen.
        on_cpu = {device.type for device in devices} == {"cpu"} and not chosen
        if "nccl" in backend and "cpu:" not in backend and on_cpu:
            raise RuntimeError(
                "No backend type associated with device type cpu (DistributedDataParallel)"
            )
        numbers = [device.index for device in devices if device.type == "cuda"]
        if "nccl" in backend and len(numbers) == 1:
            check_number(numbers[0], chosen)
            meet(group, numbers[0], "DistributedDataParallel")
        wrap(self, module, *args, **kwargs)

    return wrapped


def check_number(number: int, chosen: Any) -> None:
    """Whether a model is on the GPU that was chosen for it."""
    if number != machine.current:
        warnings.warn(
            f"DistributedDataParallel: a model is on cuda:{number}, the current device is "
            f"{machine.current}",
            stacklevel=4,
        )
    if chosen and machine.resolve(chosen[0]).index != number:
        raise ValueError(f"device_ids {chosen}, but the model is on cuda:{number}")


def registering(register: Callable[..., Any]) -> Callable[..., Any]:
    """How a hook is registered."""

    @functools.wraps(register)
    def registered(self: Any, state: Any, hook: Callable[..., Any]) -> Any:
        @functools.wraps(hook)
        def quiet(*args: Any) -> Any:
            before, inside[0] = inside[0], True
            try:
                return hook(*args)
            finally:
                inside[0] = before

        return register(self, state, quiet)

    return registered
