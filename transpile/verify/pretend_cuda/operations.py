"""The device rules of CUDA's operations."""

from __future__ import annotations

import os
import threading
from contextlib import nullcontext
from typing import Any

from transpile.verify.pretend_cuda.machine import CPU, AcceleratorError, machine, torch
from transpile.verify.pretend_cuda.randomness import Drawing, check_generator, making
from transpile.verify.pretend_cuda.stamps import (
    ANY_DEVICE,
    is_on_gpu,
    plain_device,
    stamp,
    where,
)

#: Operations that take tensors of several devices; their result is where their first one is.
MIXING = frozenset(
    {
        "copy_", "_to_copy", "set_", "index", "index_put_", "index_put", "_index_put_impl_",
        "_foreach_copy_", "record_stream", "_unsafe_index", "_unsafe_index_put",
    }
)  # fmt: skip
#: Operations whose lengths are on the CPU whatever the rest is.
WITH_LENGTHS = frozenset({"_pack_padded_sequence", "_pad_packed_sequence", "_ctc_loss", "ctc_loss"})
GIVING_LENGTHS = frozenset({"_pack_padded_sequence", "_pad_packed_sequence"})
#: Operations in which even a tensor without dimensions must be on the device of the others.
JOINING = frozenset({"stack", "cat", "clamp", "clamp_", "clamp_min", "clamp_max"})
INDEXING = frozenset({"index", "index_put_", "index_put", "_index_put_impl_"})
#: Operations whose kernels add in an order that differs from run to run.
SUMS = frozenset(
    {
        "mm", "addmm", "bmm", "baddbmm", "convolution", "mean", "sum", "mse_loss",
        "nll_loss_forward",
    }
)  # fmt: skip
LAST_DIGITS = 1e-7

leaves = torch.utils._pytree.tree_leaves
noise = torch.Generator()


def install() -> None:
    """Watch every operation from here on, in this thread and in those that are started."""
    noise.manual_seed(int.from_bytes(os.urandom(6), "big"))
    mode = torch.utils._python_dispatch.TorchDispatchMode
    rules = type("DeviceRules", (mode,), {"__torch_dispatch__": dispatched})
    # Without the wrapper that keeps the compiler out, and imports it for that.
    rules.__torch_dispatch__ = getattr(  # type: ignore[attr-defined]
        rules.__torch_dispatch__, "__wrapped__", rules.__torch_dispatch__  # type: ignore[attr-defined]
    )
    rules().__enter__()
    begin = threading.Thread._bootstrap_inner  # type: ignore[attr-defined]

    def begin_with_rules(thread: threading.Thread) -> None:
        with rules():
            begin(thread)

    threading.Thread._bootstrap_inner = begin_with_rules  # type: ignore[attr-defined]
    pad = torch._VF._pad_packed_sequence

    def padded(data: Any, *given: Any) -> Any:
        """What is padded is made of nothing, and written into bit by bit."""
        sequences, lengths = pad(data, *given)
        return stamp(sequences, where(data)), lengths

    torch._VF._pad_packed_sequence = padded


def dispatched(self: Any, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """One operation: refused where its tensors are on several devices, else done on the CPU."""
    kwargs = dict(kwargs or {})
    if operation.namespace == "c10d":
        return operation(*args, **kwargs)
    name = operation._schema.name.partition("::")[2]
    wanted = kwargs.get("device")
    if wanted is not None and torch.device(wanted).type == "cuda":
        kwargs["device"] = CPU
    tensors = [one for one in leaves((args, kwargs)) if isinstance(one, torch.Tensor)]
    in_backward = torch._C._current_autograd_node() is not None
    gpus = gpus_of_each(operation, name, (*args, *kwargs.values()), in_backward)
    gpu = None if gpus else common_gpu(operation, name, tensors, in_backward)
    if name in MIXING and tensors:
        gpu = where(tensors[0])
    drawn_on = gpu if is_gpu(gpu) else getattr(making, "device", None)
    if wanted is not None and torch.device(wanted).type == "cuda":
        drawn_on = machine.resolve(wanted)
    draws = torch.Tag.nondeterministic_seeded in operation.tags
    for given in leaves((args, kwargs)) if draws else ():
        if isinstance(given, torch.Generator):
            check_generator(given, drawn_on if is_gpu(drawn_on) else None)
    with Drawing(drawn_on) if draws else nullcontext():
        result = operation(*args, **kwargs)
    if machine.noise and is_gpu(gpu) and name in SUMS:
        blur(result[0] if isinstance(result, tuple) else result)
    for one, device in zip(result if gpus and result else (), gpus, strict=False):
        stamp(one, device)
    device = gpu
    if wanted is not None and (tensors or torch.device(wanted).type == "cuda"):
        device = machine.resolve(wanted)
    elif device is None and not tensors and (in_backward or not getattr(making, "plainly", False)):
        # Made within an operation, which does not know the device that its tensors pretend.
        device = ANY_DEVICE
    if device is not None:
        for one in leaves(result[0] if name in GIVING_LENGTHS else result):
            if isinstance(one, torch.Tensor) and (
                where(one) is ANY_DEVICE or not any(one is given for given in tensors)
            ):
                stamp(one, device)
    return result


def gpus_of_each(operation: Any, name: str, given: Any, in_backward: bool) -> list[Any]:
    """The device of each part of an operation on lists, whose parts may be on several devices."""
    if not name.startswith("_foreach_") or name in MIXING:
        return []
    lists = [one for one in given if isinstance(one, (list, tuple)) and is_of_tensors(one)]
    alone = [one for one in given if isinstance(one, torch.Tensor)]
    return [
        common_gpu(operation, name, [*parts, *alone], in_backward) or where(parts[0])
        for parts in zip(*lists, strict=False)
    ]


def is_of_tensors(values: Any) -> bool:
    """Whether a list is one of tensors."""
    return bool(values) and all(isinstance(value, torch.Tensor) for value in values)


def is_gpu(device: Any) -> bool:
    """Whether a stamp is that of a GPU."""
    return device is not None and device is not ANY_DEVICE and device.type == "cuda"


def common_gpu(operation: Any, name: str, tensors: list[Any], in_backward: bool) -> Any:
    """The GPU that some tensors are on; raises where they are on several devices."""
    gpu = None
    for tensor in tensors:
        if not is_on_gpu(tensor):
            continue
        device = where(tensor)
        if gpu is not None and device != gpu and name not in MIXING:
            raise mixed(gpu, device, operation)
        gpu = gpu or device
    if gpu is None:
        return None
    if not machine.started:
        raise AcceleratorError("CUDA error: initialization error (a forked process uses a GPU)")
    if name == "_pack_padded_sequence" and is_on_gpu(tensors[1]):
        raise RuntimeError(
            f"'lengths' argument should be a 1D CPU int64 tensor, but got 1D {where(tensors[1])}"
        )
    # Tensors without dimensions go with any device; the backward pass is checked by its forward.
    if not in_backward and name not in MIXING and name not in WITH_LENGTHS:
        for tensor in tensors:
            if (
                (tensor.dim() or name in JOINING)
                and where(tensor) == CPU
                and plain_device(tensor).type == "cpu"
            ):
                raise mixed(gpu, CPU, operation)
    if name in INDEXING and where(tensors[0]) == CPU and not in_backward:
        raise RuntimeError(
            "indices should be either on cpu or on the same device as the indexed tensor (cpu)"
        )
    return gpu


def mixed(first: Any, second: Any, operation: Any) -> RuntimeError:
    """What CUDA says of tensors on several devices."""
    return RuntimeError(
        "Expected all tensors to be on the same device, but found at least two devices, "
        f"{first} and {second}! ({operation})"
    )


def blur(result: Any) -> None:
    """Change the last digits of a sum."""
    if isinstance(result, torch.Tensor) and result.is_floating_point():
        result.mul_(1 + LAST_DIGITS * torch.randn((), generator=noise).item())
