"""Groups of NCCL, which run over Gloo and refuse what NCCL refuses."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any

from transpile.verify.pretend_cuda.machine import machine, torch
from transpile.verify.pretend_cuda.operations import leaves
from transpile.verify.pretend_cuda.stamps import ANY_DEVICE, is_on_gpu, where

dist: Any = torch.distributed
c10d: Any = torch.distributed.distributed_c10d

COLLECTIVES = (
    "all_reduce", "broadcast", "reduce", "all_gather", "gather", "scatter",
    "all_gather_into_tensor", "_all_gather_base", "reduce_scatter", "reduce_scatter_tensor",
    "all_to_all", "all_to_all_single", "send", "recv", "isend", "irecv", "barrier",
    "all_gather_object", "broadcast_object_list", "gather_object", "scatter_object_list",
)  # fmt: skip
BETWEEN_TWO = frozenset({"send", "recv", "isend", "irecv"})
MISSING_TYPES = (torch.int16, getattr(torch, "uint16", None), getattr(torch, "uint32", None))
BITWISE = (dist.ReduceOp.BAND, dist.ReduceOp.BOR, dist.ReduceOp.BXOR)

plain_all_gather = dist.all_gather
#: The backend that each group was asked for.
backends: dict[Any, str] = {}
#: The groups that were asked for none, which is one for each device.
unnamed: set[Any] = set()
#: The groups that have met, with the GPUs of this process in each, in the order of their use.
met: dict[tuple[Any, int], None] = {}
#: The GPU of this process that a group is bound to.
bound: dict[Any, int] = {}
inside = [False]


def install() -> None:
    """Replace what makes groups and what communicates."""
    replaced = {
        "init_process_group": joining(dist.init_process_group),
        "new_group": grouping(dist.new_group),
        "get_backend": name_of,
        "is_nccl_available": lambda: True,
    }
    for name in COLLECTIVES:
        if hasattr(dist, name):
            replaced[name] = checked(name, getattr(dist, name))
    for name, function in replaced.items():
        setattr(dist, name, function)
        setattr(c10d, name, function)


def backend_of(group: Any) -> str:
    """The backend that a group was asked for."""
    return backends.get(group or c10d._get_default_group(), "gloo")


def name_of(group: Any = None) -> str:
    """What PyTorch calls the backend of a group."""
    found = group or c10d._get_default_group()
    return "undefined" if found in unnamed else backend_of(found)


def joining(join: Callable[..., Any]) -> Callable[..., Any]:
    """``init_process_group``."""

    @functools.wraps(join)
    def joined(backend: Any = None, *args: Any, **kwargs: Any) -> None:
        device = kwargs.pop("device_id", None)
        if backend is None and device is not None:
            backend = "nccl"
        wanted = str(backend or ("cpu:gloo,cuda:nccl" if machine.seen() else "gloo")).lower()
        if "nccl" in wanted and not machine.seen():
            raise ValueError("ProcessGroupNCCL is only supported with GPUs, no GPUs found!")
        if device is not None:
            device = torch.device("cuda", device) if type(device) is int else torch.device(device)
            check_own(device)
        join("gloo" if "nccl" in wanted else backend, *args, **kwargs)
        group = c10d._get_default_group()
        backends[group] = wanted
        if backend is None:
            unnamed.add(group)
        if device is not None and "nccl" in wanted:
            bind(group, machine.resolve(device).index, "init_process_group")

    return joined


def check_own(device: Any) -> None:
    """Whether a group can be bound to a GPU.

    Raises:
        ValueError: it names no GPU, or one that is not there.
    """
    if device.index is None:
        raise ValueError("Please use a device_id with index.")
    if device.type == "cuda" and device.index >= machine.seen():
        raise ValueError(
            f"device_id {device} is out of range. Please use a device index less than the number "
            f"of accelerators available: {machine.seen()}."
        )


def grouping(make: Callable[..., Any]) -> Callable[..., Any]:
    """``new_group``."""

    @functools.wraps(make)
    def made(
        ranks: Any = None, timeout: Any = None, backend: Any = None, *args: Any, **kwargs: Any
    ) -> Any:
        wanted = str(backend or backend_of(None)).lower()
        device = kwargs.pop("device_id", None)
        number = bound.get(c10d._get_default_group())
        if device is not None:
            check_own(torch.device(device))
            if number not in (None, torch.device(device).index):
                raise AssertionError("Mismatched bound device between new pg and the default pg.")
            number = torch.device(device).index
        own = "gloo" if "nccl" in wanted else backend
        group = make(ranks, timeout, own, *args, **kwargs)
        if group is not dist.GroupMember.NON_GROUP_MEMBER:
            backends[group] = wanted
            if number is not None and "nccl" in wanted:
                bind(group, number, "new_group")
        return group

    return made


def bind(group: Any, number: int, what: str) -> None:
    """Let a group use one GPU of this process alone, and make its communicator at once."""
    bound[group] = number
    meet(group, number, what)


def meet(group: Any, number: int, what: str) -> None:
    """Make NCCL's communicator for a GPU, when a group first uses it."""
    if bound.get(group, number) != number:
        raise dist.DistBackendError(
            "Attempt to perform collective on tensor not on device passed to init_process_group "
            f"({what}: cuda:{number}, but the group is bound to cuda:{bound[group]})"
        )
    if (group, number) in met:
        return
    met[group, number] = None
    own = torch.tensor([machine.physical(number)], device="cpu")
    found = [
        torch.zeros(1, dtype=torch.long, device="cpu") for _ in range(dist.get_world_size(group))
    ]
    before, inside[0] = inside[0], True
    try:
        with torch.utils._python_dispatch._disable_current_modes():
            plain_all_gather(found, own, group=group)
    finally:
        inside[0] = before
    numbers = [int(one) for one in found]
    if len(set(numbers)) < len(numbers):
        raise dist.DistBackendError(
            f"NCCL error in {what}, invalid usage: Duplicate GPU detected: the ranks use the GPUs "
            f"{', '.join(map(str, numbers))}"
        )


def checked(name: str, act: Callable[..., Any]) -> Callable[..., Any]:
    """A collective with NCCL's rules, where its group is one of NCCL."""
    signature = inspect.signature(act)

    @functools.wraps(act)
    def acting(*args: Any, **kwargs: Any) -> Any:
        if inside[0]:
            return act(*args, **kwargs)
        bound = signature.bind(*args, **kwargs)
        given = bound.arguments
        group = given.get("group") or c10d._get_default_group()
        if not isinstance(group, dist.ProcessGroup) or "nccl" not in backend_of(group):
            return act(*args, **kwargs)
        if name == "barrier":
            number = gpu_of_barrier(given, group)
        else:
            number = used_gpu(name, given, backend_of(group))
        given.pop("device_ids", None)
        if number is not None and name not in BETWEEN_TWO:
            meet(group, number, name)
        averages = given.get("op") == dist.ReduceOp.AVG
        if averages:
            given["op"] = dist.ReduceOp.SUM
        inside[0] = True
        try:
            result = act(*bound.args, **bound.kwargs)
            if averages:
                if result is not None:
                    result.wait()
                whole = given[next(iter(given))]
                rounding = None if whole.is_floating_point() or whole.is_complex() else "trunc"
                whole.div_(dist.get_world_size(group), rounding_mode=rounding)
            return result
        finally:
            inside[0] = False

    return acting


def gpu_of_barrier(given: dict[str, Any], group: Any) -> int | None:
    """The GPU that a barrier uses; None where it is one of the CPU.

    It is the one that the call names, else the one that the group is bound to, whatever other
    backends the group has; else the CPU's backend waits, where there is one. NCCL alone takes the
    GPU that the group used before, and the current one if it used none: before ``set_device`` that
    is the first one in every process.
    """
    chosen = given.get("device_ids")
    if chosen:
        return int(machine.resolve(int(chosen[0])).index)
    if group in bound:
        return bound[group]
    if "cpu:" in backend_of(group):
        return None
    used = [number for one, number in met if one is group]
    return used[0] if used else int(machine.resolve(None).index)


def used_gpu(name: str, given: dict[str, Any], backend: str) -> int | None:
    """The GPU that a collective uses; None where it is one of the CPU.

    Raises:
        RuntimeError: the group has no backend for a tensor of the CPU, or a GPU is not there.
        ValueError: NCCL cannot do this.
        TypeError: NCCL does not know the type.
    """
    by_device = "cpu:" in backend
    if "object" in name:
        return None if by_device else int(machine.resolve(None).index)
    number = None
    if name == "all_gather" and is_on_gpu(given["tensor"]):
        # What is gathered is copied to where it is wanted.
        given = {**given, "tensor_list": []}
    for tensor in leaves(given):
        if not isinstance(tensor, torch.Tensor) or where(tensor) is ANY_DEVICE:
            continue
        if not is_on_gpu(tensor):
            if by_device:
                continue
            raise RuntimeError(f"No backend type associated with device type cpu ({name})")
        if tensor.is_sparse:
            raise RuntimeError(f"NCCL does not support {name} with sparse tensors.")
        if not (tensor.is_contiguous() or (tensor.dim() == 4 and is_channels_last(tensor))):
            raise ValueError(f"Tensors must be contiguous and dense ({name})")
        if tensor.dtype in MISSING_TYPES:
            raise TypeError(f"Input tensor data type is not supported for NCCL: {tensor.dtype}")
        number = where(tensor).index
        if number != machine.current:
            warnings.warn(
                f"{name}: a tensor is on cuda:{number}, the current device is {machine.current}",
                stacklevel=4,
            )
    if number is not None and given.get("op") in BITWISE:
        raise ValueError(f"Cannot use {given['op']} with NCCL")
    return number


def is_channels_last(tensor: Any) -> bool:
    """Whether a tensor of images lies densely, the channels last."""
    return bool(tensor.is_contiguous(memory_format=torch.channels_last))
