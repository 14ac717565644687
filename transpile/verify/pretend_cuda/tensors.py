"""What tensors say of their device, and how they move."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from transpile.verify.pretend_cuda.machine import CPU, machine, torch
from transpile.verify.pretend_cuda.stamps import (
    ANY_DEVICE,
    as_device,
    base,
    is_on_gpu,
    is_pinned,
    pinned,
    shown,
    stamp,
    where,
)


def install() -> None:
    """Give tensors their pretended devices."""
    tensor = torch.Tensor
    tensor.device = property(shown)
    tensor.is_cuda = property(is_on_gpu)
    tensor.is_cpu = property(lambda t: shown(t).type == "cpu")
    tensor.get_device = lambda t: -1 if shown(t).index is None else shown(t).index
    tensor.data = property(kept(base.data.__get__), set_data)
    tensor.grad = property(kept(base.grad.__get__), set_gradient, base.grad.__delete__)
    tensor._make_subclass = staticmethod(subclass_maker(base._make_subclass))
    tensor.to = to
    tensor.cuda = cuda
    tensor.cpu = cpu
    tensor.type = typed
    tensor.numpy = numpy
    tensor.pin_memory = pin_memory
    tensor.is_pinned = lambda t, device=None: is_pinned(t)
    tensor.record_stream = record_stream
    tensor.new_tensor = placing(tensor.new_tensor)
    parse = torch._C._nn._parse_to
    torch._C._nn._parse_to = lambda *args, **kwargs: parse(*map(numbered, args), **kwargs)


def pin_memory(tensor: Any, device: Any = None) -> Any:
    """``Tensor.pin_memory``."""
    if is_on_gpu(tensor):
        raise RuntimeError(f"cannot pin '{tensor.type()}' only dense CPU tensors can be pinned")
    return tensor if is_pinned(tensor) else pinned(tensor.detach().clone())


def record_stream(tensor: Any, stream: Any) -> None:
    """``Tensor.record_stream``, which has no effect here."""
    if not is_on_gpu(tensor):
        raise NotImplementedError(
            "Could not run 'aten::record_stream' with arguments from the 'CPU' backend."
        )


def placing(make: Callable[..., Any]) -> Callable[..., Any]:
    """What makes a tensor where another one is, unless it is told otherwise."""

    def made(tensor: Any, *args: Any, device: Any = None, **kwargs: Any) -> Any:
        there = where(tensor) if device is None else machine.resolve(device)
        return stamp(make(tensor, *args, **kwargs), there)

    return made


def numbered(given: Any) -> Any:
    """An argument of ``Module.to``, where a number stands for a GPU."""
    return torch.device("cuda", given) if type(given) is int else given


def kept(get: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """An attribute of a tensor that is another one on the same device."""

    def attribute(tensor: Any) -> Any:
        found = get(tensor)
        if found is None or is_on_gpu(found):
            return found
        return stamp(found, where(tensor))

    return attribute


def set_data(tensor: Any, data: Any) -> None:
    """Set ``tensor.data``, which takes the tensor to the device of what is set."""
    base.data.__set__(tensor, data)
    stamp(tensor, where(data))


def set_gradient(tensor: Any, gradient: Any) -> None:
    """Set ``tensor.grad``, which must be on the same device."""
    there = where(gradient)
    if gradient is not None and ANY_DEVICE not in (there, where(tensor)) and there != where(tensor):
        raise RuntimeError(
            f"assigned grad has data located on a different device: {there}, {where(tensor)}"
        )
    base.grad.__set__(tensor, gradient)


def subclass_maker(make: Callable[..., Any]) -> Callable[..., Any]:
    """The maker of parameters, which stay where their data is."""

    def make_subclass(cls: Any, data: Any, requires_grad: bool = False, **options: Any) -> Any:
        return stamp(make(cls, data, requires_grad, **options), where(data))

    return make_subclass


def forward(context: Any, tensor: Any, device: Any) -> Any:
    """A differentiable move."""
    context.source = where(tensor)
    return stamp(tensor.clone(), device)


def backward(context: Any, gradient: Any) -> Any:
    """The way back of a move."""
    return stamp(gradient.clone(), context.source), None


Move: Any = type(
    "Move",
    (torch.autograd.Function,),
    {"forward": staticmethod(forward), "backward": staticmethod(backward)},
)


def move(tensor: Any, device: Any) -> Any:
    """A tensor on a device: itself where it is there already."""
    if device is None or device == where(tensor):
        return tensor
    if device.type == "meta":
        return base.to(tensor, device)
    if tensor.is_meta:
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    if torch.is_grad_enabled() and tensor.requires_grad:
        return Move.apply(tensor, device)
    return stamp(tensor.detach().clone(), device)


def to(tensor: Any, *args: Any, **kwargs: Any) -> Any:
    """``Tensor.to`` in all its forms."""
    given, device = list(args), None
    if given and isinstance(given[0], torch.Tensor):
        device, given[0] = where(given[0]), given[0].dtype
    elif given and (isinstance(given[0], (str, torch.device)) or type(given[0]) is int):
        device = machine.resolve(given.pop(0))
    elif given and given[0] is None:
        given.pop(0)
    if "other" in kwargs:
        other = kwargs.pop("other")
        device, kwargs["dtype"] = where(other), other.dtype
    if kwargs.get("device") is not None:
        device = machine.resolve(kwargs["device"])
    copied = bool(kwargs.get("copy"))
    types = [one for one in given if isinstance(one, torch.dtype)]
    options = {
        name: value
        for name, value in kwargs.items()
        if name not in ("device", "non_blocking") and value is not None
    }
    before = tensor
    if types or options:
        tensor = base.to(tensor, *types, **options)
        # A new layout alone is made on the device that the tensor is really on.
        stamp(tensor, where(before))
    if copied and tensor is before:
        tensor = tensor.clone()
    return move(tensor, device)


def cuda(tensor: Any, device: Any = None, non_blocking: bool = False, **_: Any) -> Any:
    """``Tensor.cuda``."""
    return move(tensor, machine.resolve(device))


def cpu(tensor: Any, **_: Any) -> Any:
    """``Tensor.cpu``."""
    return move(tensor, CPU)


def typed(tensor: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
    """``Tensor.type``, whose names of types have devices in them."""
    if dtype is None:
        name = base.type(tensor)
        return name.replace("torch.", "torch.cuda.") if is_on_gpu(tensor) else name
    text = dtype if isinstance(dtype, str) else getattr(dtype, "__name__", str(dtype))
    if isinstance(dtype, torch.dtype):
        return base.type(tensor, dtype)
    on_gpu = "cuda" in text or "cuda" in getattr(dtype, "__module__", "")
    found = base.type(tensor, "torch." + text.rpartition(".")[2])
    return move(found, as_device("cuda") if on_gpu else CPU)


def numpy(tensor: Any, *args: Any, **kwargs: Any) -> Any:
    """``Tensor.numpy``, which only tensors of the CPU have."""
    if is_on_gpu(tensor):
        raise TypeError(
            f"can't convert {shown(tensor)} device type tensor to numpy. Use Tensor.cpu() to copy "
            "the tensor to host memory first."
        )
    return base.numpy(tensor, *args, **kwargs)
