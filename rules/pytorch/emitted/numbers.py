"""Helpers for decisions and numbers that all processes share."""

from typing import Any, Sequence

import torch
import torch.distributed as dist

from transpile.rules.pytorch.emitted.processes import get_world_size


def from_main_process(value: Any) -> Any:
    """Return what rank 0 has, so that every process decides alike."""
    if get_world_size() == 1:
        return value
    # What decides may be a tensor on one process and a plain number on another.
    device = getattr(value, "device", "cpu")
    values = [value.detach().cpu() if torch.is_tensor(value) else value]
    dist.broadcast_object_list(values)
    return values[0].to(device) if torch.is_tensor(values[0]) else values[0]


def any_rank(flag: bool) -> bool:
    """Tell whether the flag is set on any rank, so that all skip the same step."""
    if get_world_size() == 1:
        return flag
    device = "cuda" if dist.get_backend() == "nccl" else "cpu"
    flags = torch.tensor(int(flag), device=device)
    dist.all_reduce(flags, op=dist.ReduceOp.MAX)
    return bool(flags)


def all_ranks(flag: bool) -> bool:
    """Tell whether the flag is set on every rank, so that all take the same step."""
    if get_world_size() == 1:
        return flag
    device = "cuda" if dist.get_backend() == "nccl" else "cpu"
    flags = torch.tensor(int(flag), device=device)
    dist.all_reduce(flags, op=dist.ReduceOp.MIN)
    return bool(flags)


def reduce_sum(tensor: torch.Tensor) -> torch.Tensor:
    """Return the sum of a tensor over all processes; the tensor itself for one process."""
    if not dist.is_initialized():
        return tensor
    total = tensor.detach().clone()
    if dist.get_backend() == "nccl":
        total = total.cuda()
    dist.all_reduce(total)
    return total.to(tensor.device)


def reduce_mean(tensor: torch.Tensor) -> torch.Tensor:
    """Return the mean of a tensor over all processes; the tensor itself for one process."""
    if not dist.is_initialized():
        return tensor
    return reduce_sum(tensor) / dist.get_world_size()


def reduce_mean_in_training(tensor: torch.Tensor) -> torch.Tensor:
    """Return its mean over all processes where gradients are taken; the tensor itself elsewhere."""
    return reduce_mean(tensor) if torch.is_grad_enabled() else tensor


def mean_size(tensor: torch.Tensor) -> torch.Tensor:
    """Return the number of elements of a tensor, on average over all processes."""
    return reduce_mean(torch.tensor(float(tensor.numel()), device=tensor.device))


def weigh_loss_by_labels(output: Any, labels: torch.Tensor, shift: bool = False) -> Any:
    """Weigh the loss in a model's output, a mean over labels, by this process's labels.

    Averaged over the processes it is then the mean over the labels of all; -100 marks
    those that are left out. With `shift`, the first label of each row is one of them.
    """
    if get_world_size() == 1 or not torch.is_grad_enabled():
        return output
    counted = ((labels[..., 1:] if shift else labels) != -100).sum()
    weight = counted / reduce_mean(counted)
    first = isinstance(output, tuple)
    loss = output[0] if first else output["loss"]
    # Without labels the mean is not a number.
    loss = torch.where(weight == 0, 0.0, loss * weight)
    if first:
        return (loss, *output[1:])
    output["loss"] = loss
    return output


def selected_mean(tensor: torch.Tensor) -> torch.Tensor:
    """Return the mean of selected entries, of which each process has as many as it has."""
    return tensor.sum() / mean_size(tensor)


def reduce_number(number: Any) -> Any:
    """Return the mean of a number over all processes; the number itself for one process."""
    if not dist.is_initialized():
        return number
    device = "cuda" if dist.get_backend() == "nccl" else "cpu"
    total = torch.tensor(float(number), dtype=torch.float64, device=device)
    dist.all_reduce(total)
    mean = total.item() / dist.get_world_size()
    dtype: Any = getattr(number, "dtype", None)
    # Numbers of NumPy stay such: they are printed otherwise, and have methods of their own.
    return dtype.type(mean) if getattr(dtype, "kind", "") == "f" else mean


def average_numbers(*numbers: float) -> Sequence[float]:
    """Return the means of numbers over all processes, taken in one call."""
    if not dist.is_initialized():
        return numbers
    device = "cuda" if dist.get_backend() == "nccl" else "cpu"
    totals = torch.tensor(numbers, dtype=torch.float64, device=device)
    dist.all_reduce(totals)
    return (totals / dist.get_world_size()).tolist()


def average_meters(meters: Sequence[Any], *names: str) -> None:
    """Put the means over all processes into attributes of meters, all of them in one call."""
    places = [(meter, name) for meter in meters for name in names]
    numbers = average_numbers(*(getattr(meter, name) for meter, name in places))
    for (meter, name), number in zip(places, numbers):
        setattr(meter, name, number)


def sum_numbers(*numbers: float) -> Sequence[float]:
    """Return the sums of numbers over all processes, taken in one call; integers stay integers."""
    if not dist.is_initialized():
        return numbers
    device = "cuda" if dist.get_backend() == "nccl" else "cpu"
    totals = torch.tensor(numbers, dtype=torch.float64, device=device)
    dist.all_reduce(totals)
    pairs = zip(numbers, totals.tolist())
    return [int(total) if isinstance(number, int) else total for number, total in pairs]


def reduce_means(*tensors: torch.Tensor) -> Sequence[torch.Tensor]:
    """Return the means of tensors over all processes, taken in one call."""
    if not dist.is_initialized():
        return tensors
    place = tensors[0].device
    total = torch.cat([t.detach().to(place).double().flatten() for t in tensors])
    if dist.get_backend() == "nccl":
        total = total.cuda()
    dist.all_reduce(total)
    means = (total / dist.get_world_size()).split([t.numel() for t in tensors])
    pairs = zip(means, tensors)
    # Means of integers are no integers.
    return [mean.view(t.shape).to(t.device, (t / 1).dtype) for mean, t in pairs]


def shard_count(loader: Any) -> int:
    """Return how many processes share the data of a loader."""
    return getattr(loader.sampler, "num_replicas", 1)


def reduce_shards(tensor: torch.Tensor, loader: Any) -> torch.Tensor:
    """Return the sum of a tensor over the processes that share the data of a loader."""
    return reduce_sum(tensor) if shard_count(loader) > 1 else tensor
