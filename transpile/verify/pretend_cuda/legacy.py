"""Older ways to make tensors on GPUs, several GPUs in one process, and what is not imitated."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from transpile.verify.pretend_cuda.machine import machine, torch
from transpile.verify.pretend_cuda.stamps import base, is_on_gpu
from transpile.verify.pretend_cuda.tensors import move

KINDS = ("Float", "Double", "Half", "Long", "Int", "Byte", "Bool", "Short", "Char", "BFloat16")


class Kind(type):
    """A class such as ``torch.cuda.FloatTensor``."""

    def __call__(cls, *args: Any) -> Any:
        """A tensor of this kind."""
        return move(getattr(torch, cls.__name__)(*args), machine.resolve(None))

    def __instancecheck__(cls, value: Any) -> bool:
        return (
            isinstance(value, torch.Tensor)
            and is_on_gpu(value)
            and base.type(value) == f"torch.{cls.__name__}"
        )


def install() -> None:
    """Replace the classes and ``DataParallel``; compiled models run as they are."""
    for kind in KINDS:
        name = f"{kind}Tensor"
        setattr(torch.cuda, name, Kind(name, (), {"__module__": "torch.cuda"}))
    torch.nn.DataParallel.forward = forward_on_first
    torch.ctc_loss = on_lengths(torch.ctc_loss)
    set_stance = getattr(torch.compiler, "set_stance", None)
    if set_stance is not None:
        set_stance("force_eager")
    torch.set_default_tensor_type = by_default(torch.set_default_tensor_type)


def forward_on_first(wrapper: Any, *inputs: Any, **named: Any) -> Any:
    """``DataParallel``, all of which the first GPU computes."""
    first = machine.resolve(wrapper.device_ids[0] if wrapper.device_ids else None)

    def there(value: Any) -> Any:
        return move(value, first) if isinstance(value, torch.Tensor) else value

    for tensor in (*wrapper.module.parameters(), *wrapper.module.buffers()):
        if tensor.device != first:
            raise RuntimeError(
                f"module must have its parameters and buffers on device {first} (device_ids[0]) "
                f"but found one of them on device: {tensor.device}"
            )
    inputs, named = torch.utils._pytree.tree_map(there, (inputs, named))
    return wrapper.module(*inputs, **named)


def on_lengths(loss: Callable[..., Any]) -> Callable[..., Any]:
    """``ctc_loss``, whose mean divides by lengths that may be on the CPU."""

    @functools.wraps(loss)
    def of_each(
        predicted: Any, targets: Any, lengths: Any, wanted: Any, blank: int = 0,
        reduction: int = 1, zero_infinity: bool = False,
    ) -> Any:  # fmt: skip
        found = loss(predicted, targets, lengths, wanted, blank, 0, zero_infinity)
        if reduction == 1:
            wanted = torch.as_tensor(wanted).to(found).clamp(min=1)
            return (found / wanted).mean()
        return found.sum() if reduction == 2 else found

    return of_each


def by_default(choose: Callable[..., Any]) -> Callable[..., Any]:
    """``set_default_tensor_type``, which chooses a device, too."""

    @functools.wraps(choose)
    def chosen(kind: Any) -> None:
        name = kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__name__}"
        torch.set_default_device("cuda" if ".cuda." in name else "cpu")
        choose("torch." + name.rpartition(".")[2])

    return chosen
