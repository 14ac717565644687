"""Helpers for shares of batches, samplers and streams."""

import itertools
from typing import Any, Iterator, List, Sequence

import torch
import torch.distributed as dist
import torch.utils.data as data
from torch.utils.data.distributed import DistributedSampler

from transpile.rules.pytorch.emitted.processes import get_rank, get_world_size


def split_batch(batch_size: int) -> int:
    """Return this process's share of a batch that all processes take together."""
    world_size = get_world_size()
    if batch_size % world_size != 0:
        nearest = max(1, round(batch_size / world_size)) * world_size
        raise SystemExit(
            f"batch size {batch_size} is not divisible by {world_size} processes: "
            f"the nearest that is: {nearest}"
        )
    return batch_size // world_size


def share_batch(batch: Any, batch_size: int) -> Any:
    """Return this process's part of a batch that all processes take from the data alike."""
    if len(batch) == batch_size:
        split_batch(batch_size)
    # A batch that is not full may not come out even: then the parts overlap.
    size = -(-len(batch) // get_world_size())
    first = min(get_rank() * size, len(batch) - size)
    return batch[first : first + size]


def share_each_batch(batches: Sequence[Any]) -> Sequence[Any]:
    """Return this process's part of each of several batches."""
    return [share_batch(batch, len(batches[0])) for batch in batches]


def share_streams(streams: torch.Tensor, dim: int) -> torch.Tensor:
    """Return this process's part of streams that lie beside each other along a dimension."""
    size = split_batch(streams.size(dim))
    return streams.narrow(dim, get_rank() * size, size).contiguous()


class SamplerOnCpu(DistributedSampler):
    """A DistributedSampler that draws on the CPU, whatever the default device is."""

    def __iter__(self) -> Iterator[Any]:
        with torch.device("cpu"):
            return super().__iter__()


class SharedSampler(data.Sampler):
    """This process's part of what another sampler draws on rank 0."""

    def __init__(self, sampler: Any, drop_last: bool = False) -> None:
        self.sampler = sampler
        self.drop_last = drop_last
        self.rank = get_rank()
        self.world_size = get_world_size()

    def __len__(self) -> int:
        if self.drop_last:
            return len(self.sampler) // self.world_size
        return -(-len(self.sampler) // self.world_size)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.sampler, name)

    def __iter__(self) -> Iterator[Any]:
        indices, size = iter(self.sampler), 1000 * self.world_size
        first: List[Any] = []
        while True:
            drawn = [list(itertools.islice(indices, size))]
            dist.broadcast_object_list(drawn)
            block, first = drawn[0], first or drawn[0]
            rest = len(block) % self.world_size
            if rest and self.drop_last:
                block = block[:-rest]
            elif rest:
                block = block + (first * self.world_size)[: self.world_size - rest]
            yield from block[self.rank :: self.world_size]
            if len(drawn[0]) < size:
                return


def share_sampler(sampler: Any, drop_last: bool = False) -> Any:
    """Return a sampler of this process's part of each draw; the sampler itself for one process."""
    return SharedSampler(sampler, drop_last) if get_world_size() > 1 else sampler


def whole_batches(loader: Any) -> Any:
    """Return a loader of the batches that all processes take together, to look at them."""
    if get_world_size() == 1:
        return loader
    order = loader.sampler
    if isinstance(order, DistributedSampler):
        order = DistributedSampler(
            loader.dataset, 1, 0, shuffle=order.shuffle, seed=order.seed
        )
    else:
        order = getattr(order, "sampler", order)
    return data.DataLoader(
        loader.dataset,
        batch_size=loader.batch_size * get_world_size(),
        sampler=order,
        num_workers=loader.num_workers,
        collate_fn=loader.collate_fn,
        drop_last=loader.drop_last,
    )


class SharedBatches:
    """This process's part of each batch that a batch sampler draws on rank 0."""

    def __init__(self, batch_sampler: Any) -> None:
        self.batch_sampler = batch_sampler
        self.rank = get_rank()
        self.world_size = get_world_size()

    def __len__(self) -> int:
        return len(self.batch_sampler)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.batch_sampler, name)

    def __iter__(self) -> Iterator[Any]:
        batches = iter(self.batch_sampler)
        while True:
            drawn = [[list(batch) for batch in itertools.islice(batches, 1000)]]
            dist.broadcast_object_list(drawn)
            for batch in drawn[0]:
                if len(batch) == getattr(self.batch_sampler, "batch_size", None):
                    split_batch(len(batch))
                # As a DistributedSampler does it: what is drawn beside belongs to it.
                share = batch[self.rank :: self.world_size]
                # A batch that does not come out even is filled up with its first ones.
                size = -(-len(batch) // self.world_size)
                yield share + batch[: size - len(share)]
            if len(drawn[0]) < 1000:
                return


def share_batches(batch_sampler: Any) -> Any:
    """Return a batch sampler of this process's part of each batch; itself for one process."""
    return SharedBatches(batch_sampler) if get_world_size() > 1 else batch_sampler


class SharedStream(data.IterableDataset):
    """This process's part of a stream that every process goes through in the same order."""

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset
        self.rank = get_rank()
        self.world_size = get_world_size()

    def __len__(self) -> int:
        return len(self.dataset) // self.world_size

    def __iter__(self) -> Iterator[Any]:
        group = []
        for sample in self.dataset:
            group.append(sample)
            if len(group) == self.world_size:
                yield group[self.rank]
                group = []


def share_stream(dataset: Any) -> Any:
    """Return this process's part of a stream; the stream itself for one process."""
    return SharedStream(dataset) if get_world_size() > 1 else dataset
