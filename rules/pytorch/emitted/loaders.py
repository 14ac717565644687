"""Helpers that make a finished loader one over a process's shard."""

import copy
from typing import Any

import torch.utils.data as data
from torch.utils.data.distributed import DistributedSampler

from transpile.rules.pytorch.emitted.processes import get_world_size
from transpile.rules.pytorch.emitted.randomness import shared_seed
from transpile.rules.pytorch.emitted.shares import (
    SharedBatches,
    SharedSampler,
    split_batch,
)


def shard_loader(loader: Any) -> Any:
    """Return a loader like this one for this process's shard and share of each batch."""
    if get_world_size() == 1:
        return loader
    if isinstance(loader.dataset, data.IterableDataset):
        name = type(loader.dataset).__name__
        raise SystemExit(f"{name} is a stream, which cannot be sharded over processes")
    order = loader.sampler
    shuffles = isinstance(order, data.RandomSampler)
    if not shuffles and not isinstance(order, data.SequentialSampler):
        raise SystemExit(f"{type(order).__name__} cannot be sharded over processes")
    if shuffles and (order.replacement or order.num_samples != len(loader.dataset)):
        raise SystemExit("a RandomSampler that draws its own number cannot be sharded")
    if (
        type(loader) is not data.DataLoader
        or type(loader.batch_sampler) is not data.BatchSampler
    ):
        raise SystemExit(f"a {type(loader).__name__} cannot be sharded over processes")
    sampler = DistributedSampler(
        loader.dataset, shuffle=shuffles, seed=shared_seed(), drop_last=loader.drop_last
    )
    names = ["num_workers", "collate_fn", "pin_memory", "timeout", "worker_init_fn"]
    names += ["multiprocessing_context", "generator"]
    names += ["prefetch_factor", "persistent_workers"]
    return data.DataLoader(
        loader.dataset,
        batch_size=split_batch(loader.batch_size),
        sampler=sampler,
        drop_last=loader.drop_last,
        **{name: getattr(loader, name) for name in names},
    )


def shard_loader_with_sampler(loader: Any) -> Any:
    """Return a loader like this one for this process's shard and share of each batch."""
    if get_world_size() == 1:
        return loader
    if type(loader) is not data.DataLoader or loader.batch_sampler is None:
        raise SystemExit(f"a {type(loader).__name__} cannot be sharded over processes")
    if isinstance(loader.dataset, data.IterableDataset):
        raise SystemExit(
            f"a {type(loader.dataset).__name__} cannot be sharded over processes"
        )
    names = ["num_workers", "collate_fn", "pin_memory", "timeout", "worker_init_fn"]
    names += ["multiprocessing_context", "generator"]
    names += ["prefetch_factor", "persistent_workers"]
    settings = {name: getattr(loader, name) for name in names}
    if loader.batch_size is None:
        batches = SharedBatches(loader.batch_sampler)
        return data.DataLoader(loader.dataset, batch_sampler=batches, **settings)
    order = loader.sampler
    shuffles = type(order) is data.RandomSampler and not order.replacement
    shuffles = shuffles and order.num_samples == len(loader.dataset)
    if shuffles or type(order) is data.SequentialSampler:
        sampler = DistributedSampler(
            loader.dataset,
            shuffle=shuffles,
            seed=shared_seed(),
            drop_last=loader.drop_last,
        )
    else:
        sampler = SharedSampler(order, loader.drop_last)
    return data.DataLoader(
        loader.dataset,
        batch_size=split_batch(loader.batch_size),
        sampler=sampler,
        drop_last=loader.drop_last,
        **settings,
    )


def shard_unknown_loader(loader: Any) -> Any:
    """Return what a library made, over this process's shard and with its share of each batch."""
    if get_world_size() == 1:
        return loader
    name = type(loader).__name__
    if not isinstance(loader, data.DataLoader):
        # Some libraries put another object before their loader, which moves its batches.
        if not isinstance(getattr(loader, "loader", None), data.DataLoader):
            raise SystemExit(
                f"a {name} cannot be sharded: train from a DataLoader instead"
            )
        outer = copy.copy(loader)
        outer.loader = shard_unknown_loader(loader.loader)
        return outer
    if (
        type(loader).__iter__ is not data.DataLoader.__iter__
        or type(loader.batch_sampler) is not data.BatchSampler
        or isinstance(loader.dataset, data.IterableDataset)
    ):
        raise SystemExit(
            f"a {name} that makes its batches in its own way cannot be sharded: "
            "train from a DataLoader over a dataset with indices instead"
        )
    order = loader.sampler
    shuffles = type(order) is data.RandomSampler and not order.replacement
    shuffles = shuffles and order.num_samples == len(loader.dataset)
    if shuffles or type(order) is data.SequentialSampler:
        sampler = DistributedSampler(
            loader.dataset,
            shuffle=shuffles,
            seed=shared_seed(),
            drop_last=loader.drop_last,
        )
    elif type(order).__module__ == data.Sampler.__module__:
        sampler = SharedSampler(order, loader.drop_last)
    else:
        raise SystemExit(
            f"the {type(order).__name__} of a {name} is not known: "
            "make a DataLoader with a sampler that shares its indices out"
        )
    size = split_batch(loader.batch_size)
    batches = data.BatchSampler(sampler, size, loader.drop_last)
    shared = copy.copy(loader)
    # The class lets nobody set these once a loader is made.
    vars(shared).update(
        sampler=sampler,
        batch_sampler=batches,
        batch_size=batches.batch_size,
        _iterator=None,
    )
    return shared
