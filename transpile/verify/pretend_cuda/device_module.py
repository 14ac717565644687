"""``torch.cuda`` and ``torch.accelerator`` of the pretended machine."""

from __future__ import annotations

import contextlib
import functools
import types
from collections.abc import Callable, Iterator
from typing import Any

from transpile.verify.pretend_cuda.machine import machine, torch
from transpile.verify.pretend_cuda.randomness import (
    as_bytes,
    from_bytes,
    seed_all,
    seed_one,
    states,
)
from transpile.verify.pretend_cuda.stamps import is_on_gpu

MEMORY = 80 << 30
NAME = "Pretended GPU"
PROPERTIES = types.SimpleNamespace(
    name=NAME, major=8, minor=0, total_memory=MEMORY, multi_processor_count=108
)


def install() -> None:
    """Replace the functions of the modules."""
    replaced = {**devices(), **generators(), **memory(), **streams()}
    for name, value in replaced.items():
        setattr(torch.cuda, name, value)
    for module in (torch.cuda.random, torch.cuda.memory, torch.cuda.streams):
        for name in replaced.keys() & vars(module).keys():
            setattr(module, name, replaced[name])
    torch.cuda.nccl.version = constant((2, 28, 9))
    for name, value in ranges().items():
        setattr(torch.cuda.nvtx, name, value)
    accelerator = getattr(torch, "accelerator", None)
    if accelerator is not None:
        for name, value in accelerators().items():
            setattr(accelerator, name, value)


def nothing(*args: Any, **kwargs: Any) -> None:
    """What has no effect here."""


def constant(value: Any) -> Callable[..., Any]:
    """A function that gives the same for all arguments."""
    return lambda *args, **kwargs: value


def set_device(device: Any) -> None:
    """Choose this thread's current GPU."""
    if type(device) is int:
        if device >= 0:
            machine.current = machine.resolve(device).index
        return
    device = torch.device(device)
    if device.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {device}")
    if device.index is None:
        raise ValueError(
            f"Expected a torch.device with a specified index or an integer, but got:{device}"
        )
    machine.current = machine.resolve(device).index


def property_of(value: Any) -> Callable[..., Any]:
    """What tells something of a GPU, which must be there."""

    def told(device: Any = None) -> Any:
        number = device if type(device) is int else torch.device(device or "cuda").index
        if not 0 <= (number or 0) < machine.seen():
            raise AssertionError("Invalid device id")
        return value

    return told


def synchronize(device: Any = None) -> None:
    """Wait for a GPU, where nothing is late."""
    machine.resolve(device)


def current_device() -> int:
    """The number of this thread's current GPU."""
    machine.start()
    return machine.current


class Device(contextlib.ContextDecorator):
    """``with torch.cuda.device(...)``."""

    def __init__(self, device: Any) -> None:
        self.device = device

    def __enter__(self) -> None:
        self.before = machine.current
        if self.device is not None:
            set_device(self.device)

    def __exit__(self, *error: object) -> None:
        machine.current = self.before


#: The streams that are entered, the last one last.
entered: list[Any] = []


class Stream:
    """A stream or an event: everything has happened when it is asked."""

    def __init__(self, device: Any = None, *args: Any, **kwargs: Any) -> None:
        self.device = machine.resolve(None)

    def __enter__(self) -> Stream:
        entered.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        entered.pop()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return constant({"query": True}.get(name))

    def record_event(self, event: Any = None) -> Any:
        """An event of this stream."""
        return event or Event()


class Event(Stream):
    """An event, which may measure time."""

    def __init__(self, enable_timing: bool = False, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        self.timing = enable_timing

    def elapsed_time(self, other: Any) -> float:
        """The time between two events: none."""
        if not (self.timing and other.timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        return 0.0


def current_stream(device: Any = None) -> Any:
    """The stream that is entered, or the default one."""
    return entered[-1] if entered else default_stream()


@functools.cache
def default_stream(device: Any = None) -> Any:
    """The stream of those that enter none."""
    return Stream()


def devices() -> dict[str, Any]:
    """What asks for GPUs and chooses one."""
    return {
        "is_available": lambda: machine.seen() > 0,
        "device_count": machine.seen,
        "current_device": current_device,
        "set_device": set_device,
        "device": Device,
        "is_initialized": lambda: machine.started,
        "init": machine.start,
        "_lazy_init": machine.start,
        "_lazy_call": lambda call, **kwargs: call(),
        "synchronize": synchronize,
        "ipc_collect": nothing,
        "get_device_name": property_of(NAME),
        "get_device_capability": property_of((8, 0)),
        "get_device_properties": property_of(PROPERTIES),
        "is_bf16_supported": constant(True),
        "is_current_stream_capturing": constant(False),
    }


def generators() -> dict[str, Any]:
    """The generators of the GPUs."""

    def get_rng_state(device: Any = None) -> Any:
        return as_bytes(states[machine.resolve(device).index])

    def set_rng_state(state: Any, device: Any = None) -> None:
        if is_on_gpu(state) or state.dtype is not torch.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        states[machine.resolve(device).index] = from_bytes(state)

    def set_all(given: Any) -> None:
        for number, state in enumerate(given):
            set_rng_state(state, number)

    return {
        "manual_seed": lambda seed: seed_one(machine.current, int(seed)),
        "manual_seed_all": lambda seed: seed_all(int(seed)),
        "initial_seed": lambda: states[machine.current][0],
        "get_rng_state": get_rng_state,
        "set_rng_state": set_rng_state,
        "get_rng_state_all": lambda: [get_rng_state(n) for n in range(machine.seen())],
        "set_rng_state_all": set_all,
    }


def memory() -> dict[str, Any]:
    """What asks for memory, of which nothing is known."""
    zero = (
        "memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved",
        "memory_cached", "max_memory_cached",
    )  # fmt: skip
    return {
        **dict.fromkeys(zero, constant(0)),
        "empty_cache": nothing,
        "reset_peak_memory_stats": nothing,
        "reset_max_memory_allocated": nothing,
        "set_per_process_memory_fraction": nothing,
        "mem_get_info": constant((MEMORY, MEMORY)),
        "memory_summary": constant(""),
        "memory_stats": constant({}),
    }


def streams() -> dict[str, Any]:
    """Streams and events."""
    return {
        "Stream": Stream,
        "Event": Event,
        "current_stream": current_stream,
        "default_stream": default_stream,
        "stream": lambda stream: stream or contextlib.nullcontext(),
    }


def ranges() -> dict[str, Any]:
    """What marks parts of a run for a profiler."""

    @contextlib.contextmanager
    def within(message: str, *args: Any, **kwargs: Any) -> Iterator[None]:
        yield

    return {
        "range_push": constant(0),
        "range_pop": constant(0),
        "range_start": constant(0),
        "range_end": nothing,
        "mark": nothing,
        "range": within,
    }


def accelerators() -> dict[str, Any]:
    """What does not name its kind of device."""
    return {
        "is_available": lambda: machine.seen() > 0,
        "device_count": machine.seen,
        "current_accelerator": (
            lambda check_available=False: torch.device("cuda") if machine.seen() else None
        ),
        "current_device_index": current_device,
        "current_device_idx": current_device,
        "set_device_index": set_device,
        "set_device_idx": set_device,
        "synchronize": nothing,
        "current_stream": current_stream,
    }
