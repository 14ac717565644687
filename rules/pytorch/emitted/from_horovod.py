"""What stands for Horovod's functions in scripts that leave it; without a launcher, one process."""

import os
from typing import Any, List

import torch
import torch.distributed as dist
import torch.distributed.nn.functional as dist_nn

from transpile.rules.pytorch.emitted.objects import broadcast_object


def get_local_rank() -> int:
    """Return the number of this process on its machine."""
    return int(os.environ.get("LOCAL_RANK", 0))


def get_local_size() -> int:
    """Return the number of processes on this machine."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", 1))


def refuse_choice(chosen: Any, what: str) -> None:
    """Stop where an option asks for what Horovod did and torch.distributed does not do."""
    if chosen:
        raise SystemExit(f"an option asks for {what}, which took Horovod")


def all_reduced(tensor: torch.Tensor, average: bool = True) -> torch.Tensor:
    """Return the mean of a tensor over the processes, or its sum."""
    if not dist.is_initialized():
        return tensor.clone()
    if tensor.requires_grad and torch.is_grad_enabled():
        total = dist_nn.all_reduce(tensor)
    else:
        total = tensor.detach().clone()
        dist.all_reduce(total)
    return (total / dist.get_world_size()).to(total.dtype) if average else total


def all_gathered(tensor: torch.Tensor) -> torch.Tensor:
    """Return the rows of all processes, which may have different numbers of them, in order."""
    if not dist.is_initialized():
        return tensor.clone()
    tensor = tensor.detach().contiguous()
    tensor = tensor.reshape(1) if tensor.dim() == 0 else tensor
    counts: List[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(counts, len(tensor))
    padded = tensor.new_zeros((max(counts), *tensor.shape[1:]))
    padded[: len(tensor)] = tensor
    parts = [torch.empty_like(padded) for _ in counts]
    dist.all_gather(parts, padded)
    return torch.cat([part[:count] for part, count in zip(parts, counts)])


def broadcast_in_place(tensor: torch.Tensor, root_rank: int) -> torch.Tensor:
    """Give a tensor the values that it has on one process."""
    if dist.is_initialized():
        dist.broadcast(tensor.detach(), root_rank)
    return tensor


def broadcast_tensor(tensor: torch.Tensor, root_rank: int) -> torch.Tensor:
    """Return a tensor as it is on one process."""
    return broadcast_in_place(tensor.detach().clone(), root_rank)


def broadcast_parameters(parameters: Any, root_rank: int) -> None:
    """Give parameters, as a state_dict() or pairs with names, the values of one process."""
    pairs = parameters.items() if hasattr(parameters, "items") else parameters
    for _, tensor in sorted(pairs):
        if torch.is_tensor(tensor):
            broadcast_in_place(tensor, root_rank)


def broadcast_optimizer_state(optimizer: Any, root_rank: int) -> None:
    """Give an optimizer the state and the settings that it has on one process."""
    if dist.is_initialized():
        optimizer.load_state_dict(broadcast_object(optimizer.state_dict(), root_rank))
