"""Helpers for wraps, gradients, epochs and learning rates."""

import itertools
from contextlib import contextmanager
from typing import Any, Dict, Iterator

import torch
from torch.nn.parallel import DistributedDataParallel

from transpile.rules.pytorch.emitted.numbers import reduce_sum
from transpile.rules.pytorch.emitted.processes import get_world_size


def wrap_thawed(model: torch.nn.Module) -> DistributedDataParallel:
    """Wrap a model so that parameters which are frozen now may learn later."""
    frozen = [p for p in model.parameters() if not p.requires_grad]
    for p in frozen:
        p.requires_grad = True
    wrapped = DistributedDataParallel(model, find_unused_parameters=True)
    for p in frozen:
        p.requires_grad = False
    return wrapped


def average_gradients(optimizer: torch.optim.Optimizer) -> None:
    """Average the gradients that an optimizer is about to use over all processes."""
    if get_world_size() == 1:
        return
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    used = reduce_sum(torch.tensor([float(p.grad is not None) for p in parameters]))
    alike: Dict[Any, Any] = {}
    for p, count in zip(parameters, used.tolist()):
        if count:
            p.grad = torch.zeros_like(p) if p.grad is None else p.grad
            alike.setdefault((p.device, p.dtype), []).append(p.grad)
    for gradients in alike.values():
        # Divided before they are added: in half precision the sum may not fit.
        flat = torch.cat([g.flatten() for g in gradients]) / get_world_size()
        parts = reduce_sum(flat).split([g.numel() for g in gradients])
        for gradient, part in zip(gradients, parts):
            gradient.copy_(part.view_as(gradient))


def unwrap(model: Any) -> Any:
    """Return the model itself behind DistributedDataParallel."""
    return model.module if isinstance(model, DistributedDataParallel) else model


def next_epoch(calls: Iterator[int] = itertools.count()) -> int:
    """Return how often this was called before, which is the same on all processes."""
    return next(calls)


@contextmanager
def gradients_synchronised(model: torch.nn.Module, when: bool) -> Iterator[None]:
    """Average the gradients over all processes now, or leave them to a later backward pass."""
    if when or not isinstance(model, DistributedDataParallel):
        yield
    else:
        with model.no_sync():
            yield


@contextmanager
def frozen(model: torch.nn.Module) -> Iterator[None]:
    """Compute no gradients of a model's own parameters for what it is called on here."""
    learning = [p for p in model.parameters() if p.requires_grad]
    for p in learning:
        p.requires_grad = False
    try:
        yield
    finally:
        for p in learning:
            p.requires_grad = True


def scale_learning_rate(learning_rate: float) -> float:
    """Return the learning rate for the batch of all processes together."""
    return learning_rate * get_world_size()


def scale_learning_rate_by_root(learning_rate: float) -> float:
    """Return the learning rate for the batch of all processes together."""
    return learning_rate * get_world_size() ** 0.5


def contiguous_copy(tensor: torch.Tensor) -> torch.Tensor:
    """Return a copy with memory in the order of its shape, as broadcasts of buffers need it."""
    return tensor.clone(memory_format=torch.contiguous_format)
