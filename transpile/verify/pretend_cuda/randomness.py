"""The random numbers of each GPU, and the tensors that are made on one."""

from __future__ import annotations

import functools
import hashlib
import importlib
import os
import threading
import weakref
from collections.abc import Callable
from typing import Any

from transpile.verify.pretend_cuda.machine import CPU, machine, torch
from transpile.verify.pretend_cuda.stamps import is_on_gpu, pinned, stamp, where

MAKERS = (
    "zeros", "ones", "empty", "full", "rand", "randn", "randint", "randperm", "arange", "linspace",
    "logspace", "eye", "tensor", "as_tensor", "asarray", "normal", "empty_strided", "tril_indices",
    "triu_indices", "range", "scalar_tensor",
)  # fmt: skip
#: The seed of the generator of each GPU, and how often it has been drawn from.
states: dict[int, tuple[int, int]] = {}
STATE_BYTES = 16
making = threading.local()
#: What makes tensors on the default device.
constructors: set[Any] = set()
#: Held while the state of a generator stands in for that of another.
drawing = threading.RLock()
PlainGenerator = torch.Generator
#: The generators that scripts make for GPUs.
of_gpus: weakref.WeakSet[Any] = weakref.WeakSet()

#: What makes a tensor of another one, on its device.
COPYING = (torch.tensor, torch.as_tensor, torch.asarray)

get_plain_state = torch.get_rng_state
set_plain_state = torch.set_rng_state


def install() -> None:
    """Replace what makes tensors and what seeds generators."""
    defaults = importlib.import_module("torch.utils._device")
    # What default devices are for is looked up once: before it is replaced.
    for make in defaults._device_constructors():
        constructors.add(make)
    context = defaults.DeviceContext
    context.__torch_function__ = by_maker(context.__torch_function__)
    plain_seed = torch.manual_seed

    def manual_seed(seed: int) -> Any:
        seed_all(int(seed))
        return plain_seed(seed)

    torch.manual_seed = torch.random.manual_seed = manual_seed
    torch.set_rng_state = torch.random.set_rng_state = set_state_of_cpu
    for name in MAKERS:
        setattr(torch, name, on_its_device(getattr(torch, name)))
    torch.Generator = Generator
    seed_all(int.from_bytes(os.urandom(6), "big"))


def set_state_of_cpu(state: Any) -> None:
    """``torch.set_rng_state``, whose states are on the CPU."""
    if is_on_gpu(state):
        raise TypeError("RNG state must be a torch.ByteTensor")
    set_plain_state(state)


def seed_all(seed: int) -> None:
    """Seed the generators of all GPUs."""
    for number in range(machine.count):
        seed_one(number, seed)


def seed_one(number: int, seed: int) -> None:
    """Seed the generator of one GPU."""
    states[number] = (seed % 2**63, 0)


def as_bytes(state: tuple[int, int]) -> Any:
    """A state as it is kept and sent."""
    data = b"".join(part.to_bytes(STATE_BYTES // 2, "little") for part in state)
    return torch.frombuffer(bytearray(data), dtype=torch.uint8).clone()


def from_bytes(state: Any) -> tuple[int, int]:
    """A state from what was kept.

    Raises:
        RuntimeError: it is none of a GPU.
    """
    data = bytes(state.tolist())
    if len(data) != STATE_BYTES:
        raise RuntimeError("RNG state is wrong size")
    half = STATE_BYTES // 2
    return int.from_bytes(data[:half], "little"), int.from_bytes(data[half:], "little")


class Drawing:
    """While this is entered, random numbers come from the generator of a GPU, or of the CPU."""

    def __init__(self, device: Any) -> None:
        self.number = None if device is None else device.index

    def __enter__(self) -> None:
        drawing.acquire()
        if self.number is not None:
            self.before = get_plain_state()
            # Far apart for seeds and turns that are close.
            mixed = hashlib.sha256(repr(states[self.number]).encode()).digest()
            torch.default_generator.manual_seed(int.from_bytes(mixed[:7], "little"))

    def __exit__(self, *error: object) -> None:
        if self.number is not None:
            seed, turn = states[self.number]
            states[self.number] = (seed, turn + 1)
            set_plain_state(self.before)
        drawing.release()


def belongs(cls: Any, value: Any) -> bool:
    """Whether a value is a generator: those that PyTorch itself makes are, too."""
    return isinstance(value, PlainGenerator)


Kind: Any = type("Kind", (type(PlainGenerator),), {"__instancecheck__": belongs})


def generator(cls: Any, device: Any = "cpu") -> Any:
    """A generator of a GPU, which computes on the CPU."""
    made = PlainGenerator.__new__(cls)
    device = torch.device(device)
    made.pretended_device = device
    if device.type == "cuda":
        machine.resolve(device)
        of_gpus.add(made)
    return made


Generator = Kind(
    "Generator",
    (PlainGenerator,),
    {
        "__module__": "torch",
        "__new__": generator,
        "device": property(lambda made: getattr(made, "pretended_device", CPU)),
    },
)


def check_generator(given: Any, device: Any) -> None:
    """Whether random numbers of a device come from a generator of it.

    Raises:
        RuntimeError: the generator is one of another device.
    """
    wanted = CPU if device is None else device
    found = next((one.device for one in list(of_gpus) if is_same(one, given)), CPU)
    if found.type != wanted.type:
        raise RuntimeError(
            f"Expected a '{wanted.type}' device type for generator but found '{found.type}'"
        )
    if found.index is not None and found != wanted:
        raise RuntimeError(f"Expected a '{wanted}' generator device but found '{found}'")


def is_same(one: Any, given: Any) -> bool:
    """Whether two objects stand for one generator: operations see another object than scripts."""
    seed = one.initial_seed()
    if given.initial_seed() != seed:
        return False
    state = one.get_state()
    try:
        one.manual_seed(seed ^ 1)
        return bool(given.initial_seed() == one.initial_seed())
    finally:
        one.set_state(state)


def by_maker(choose: Callable[..., Any]) -> Callable[..., Any]:
    """What a default device does to a call; those of :data:`MAKERS` see to it themselves."""

    @functools.wraps(choose)
    def chosen(self: Any, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if self.device.type == "cuda" and getattr(function, "__name__", "") in MAKERS:
            return function(*args, **(kwargs or {}))
        return choose(self, function, types, args, kwargs)

    return chosen


def default_device() -> Any:
    """The GPU that tensors of this thread are made on by default; None where they are not."""
    for mode in reversed(torch.overrides._get_current_function_mode_stack()):
        device = getattr(mode, "device", None)
        if isinstance(device, torch.device):
            return device if device.type == "cuda" else None
    return None


def on_its_device(make: Callable[..., Any]) -> Callable[..., Any]:
    """A function that makes tensors on the device that it is given."""

    @functools.wraps(make)
    def made(*args: Any, **kwargs: Any) -> Any:
        device = kwargs.get("device")
        if device is None and make in constructors:
            device = default_device()
        if device is None and args and make in COPYING and is_on_gpu(args[0]):
            device = where(args[0])
        is_gpu = type(device) is int or (device is not None and torch.device(device).type == "cuda")
        if kwargs.pop("pin_memory", False):
            if is_gpu:
                raise RuntimeError("Only dense CPU tensors can be pinned")
            return pinned(make(*args, **kwargs))
        if not is_gpu:
            outer, making.plainly = getattr(making, "plainly", False), True
            try:
                return make(*args, **kwargs)
            finally:
                making.plainly = outer
        device = machine.resolve(device)
        kwargs.pop("device", None)
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
