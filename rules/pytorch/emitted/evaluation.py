"""Helpers for evaluations that are sharded."""

import functools
import io
import pickle
from typing import Any, Iterable, Iterator, List, Sequence

import numpy
import torch
import torch.distributed as dist
import torch.utils.data as data

from transpile.rules.pytorch.emitted.devices import own_location
from transpile.rules.pytorch.emitted.processes import get_rank, get_world_size


class OwnBatches:
    """This process's block of the batches that a batch sampler draws on rank 0."""

    def __init__(self, batch_sampler: Any) -> None:
        self.batch_sampler = batch_sampler
        self.rank = get_rank()
        self.world_size = get_world_size()

    def __iter__(self) -> Iterator[Any]:
        drawn = [[list(batch) for batch in self.batch_sampler]]
        dist.broadcast_object_list(drawn)
        count = len(drawn[0])
        first = self.rank * count // self.world_size
        last = (self.rank + 1) * count // self.world_size
        yield from drawn[0][first:last]

    def __len__(self) -> int:
        count, rank = len(self.batch_sampler), self.rank
        return (rank + 1) * count // self.world_size - rank * count // self.world_size


def own_batches(loader: Any) -> Any:
    """Return this process's block of a loader's batches; all of them for one process."""
    if get_world_size() == 1:
        return loader
    if (
        type(loader) is not data.DataLoader
        or isinstance(loader.dataset, data.IterableDataset)
        or loader.batch_sampler is None
    ):
        # Its batches cannot be told apart before they are drawn.
        return loader if get_rank() == 0 else []
    names = ["num_workers", "collate_fn", "pin_memory", "timeout", "worker_init_fn"]
    names += ["multiprocessing_context", "generator", "prefetch_factor"]
    return data.DataLoader(
        loader.dataset,
        batch_sampler=OwnBatches(loader.batch_sampler),
        **{name: getattr(loader, name) for name in names},
    )


def sync_buffers(model: torch.nn.Module) -> None:
    """Give the buffers of a model on rank 0 to all processes, before each calls it by itself."""
    if get_world_size() > 1:
        for buffer in model.buffers():
            dist.broadcast(buffer, 0)


def gather_totals(totals: Any) -> Iterable[Any]:
    """Return what each total is on every process, in the order of the ranks."""
    stream = io.BytesIO()
    torch.save(totals, stream)
    streams: List[Any] = [None] * get_world_size()
    dist.all_gather_object(streams, stream.getvalue())
    return zip(*(torch.load(io.BytesIO(one), own_location, pickle) for one in streams))


def sum_totals(*totals: Any) -> Sequence[Any]:
    """Return the sum of each total over all processes; the totals themselves for one."""
    if get_world_size() == 1:
        return totals
    return tuple(sum(parts) for parts in gather_totals(totals))


def add_up_counts(*counts: Any) -> Sequence[Any]:
    """Return what lists and dicts count on all processes together; themselves for one."""
    if get_world_size() == 1:
        return counts

    def added(first: Any, second: Any) -> Any:
        if isinstance(first, dict):
            both = first.copy()
            for key, count in second.items():
                both[key] = added(both[key], count) if key in both else count
            return both
        if isinstance(first, list):
            return [added(*pair) for pair in zip(first, second)]
        return first + second

    return tuple(functools.reduce(added, parts) for parts in gather_totals(counts))


def join_lists(*lists: Any) -> Sequence[Any]:
    """Return the lists of all processes behind each other; the lists themselves for one."""
    if get_world_size() == 1:
        return lists
    return tuple(sum(parts, []) for parts in gather_totals(lists))


def join_tensors(*tensors: torch.Tensor) -> Sequence[torch.Tensor]:
    """Return the tensors of all processes behind each other; the tensors themselves for one."""
    if get_world_size() == 1:
        return tensors
    return tuple(torch.cat(parts) for parts in gather_totals(tensors))


def join_arrays(*arrays: Any) -> Sequence[Any]:
    """Return the arrays of all processes behind each other; the arrays themselves for one."""
    if get_world_size() == 1:
        return arrays
    return tuple(numpy.concatenate(parts) for parts in gather_totals(arrays))
