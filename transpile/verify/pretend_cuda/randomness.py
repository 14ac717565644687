"""The random numbers of each GPU, and the tensors that are made on one."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable
from typing import Any

from transpile.verify.pretend_cuda.machine import machine, torch
from transpile.verify.pretend_cuda.stamps import stamp

MAKERS = (
    "zeros", "ones", "empty", "full", "rand", "randn", "randint", "randperm", "arange", "linspace",
    "logspace", "eye", "tensor", "as_tensor", "asarray", "normal", "empty_strided", "tril_indices",
    "triu_indices", "range", "scalar_tensor",
)  # fmt: skip
#: The state of the generator of each GPU.
states: dict[int, Any] = {}
making = threading.local()

get_plain_state = torch.get_rng_state
set_plain_state = torch.set_rng_state


def install() -> None:
    """Replace what makes tensors and what seeds generators."""
    plain_seed = torch.manual_seed

    def manual_seed(seed: int) -> Any:
        seed_all(int(seed))
        return plain_seed(seed)

    torch.manual_seed = torch.random.manual_seed = manual_seed
    for name in MAKERS:
        setattr(torch, name, on_its_device(getattr(torch, name)))
    seed_all(int.from_bytes(os.urandom(6), "big"))


def seed_all(seed: int) -> None:
    """Seed the generators of all GPUs."""
    for number in range(machine.count):
        seed_one(number, seed)


def seed_one(number: int, seed: int) -> None:
    """Seed the generator of one GPU."""
    states[number] = torch.Generator().manual_seed(seed % 2**63).get_state()


class Drawing:
    """While this is entered, random numbers come from the generator of a GPU."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __enter__(self) -> None:
        self.before = get_plain_state()
        set_plain_state(states[self.number])

    def __exit__(self, *error: object) -> None:
        states[self.number] = get_plain_state()
        set_plain_state(self.before)


def on_its_device(make: Callable[..., Any]) -> Callable[..., Any]:
    """A function that makes tensors on the device that it is given."""

    @functools.wraps(make)
    def made(*args: Any, **kwargs: Any) -> Any:
        device = kwargs.get("device")
        is_gpu = type(device) is int or (device is not None and torch.device(device).type == "cuda")
        if not is_gpu:
            outer, making.plainly = getattr(making, "plainly", False), True
            try:
                return make(*args, **kwargs)
            finally:
                making.plainly = outer
        device = machine.resolve(kwargs.pop("device"))
        kwargs.pop("pin_memory", None)
        if getattr(kwargs.get("generator"), "device", None) is not None:
            raise RuntimeError("Expected a 'cuda' device type for generator but found 'cpu'")
        before = getattr(making, "device", None)
        making.device = device
        try:
            found = make(*args, **kwargs)
        finally:
            making.device = before
        if args and found is args[0]:
            found = found.detach().clone().requires_grad_(found.requires_grad)
        return stamp(found, device)

    return made
