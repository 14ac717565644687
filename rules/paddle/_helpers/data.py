"""The helper functions for sharding training data."""

from __future__ import annotations

from transpile.options import Options
from transpile.prelude import HelperSource, HelperTemplate
from transpile.rules.paddle._helpers.names import (
    BATCH_SAMPLER,
    DATA_LOADER,
    DIST,
    DISTRIBUTED_SAMPLER,
    ITERABLE,
)


def shard_batches(options: Options) -> HelperSource:
    """The helper ``shard_batches``: the processes share a batch, or each takes one."""
    share, word = "$split_batch(batch_size)", "its share of each batch"
    helpers: tuple[str, ...] = ("split_batch",)
    if options.batch_size == "per-device":
        share, word, helpers = "batch_size", "a shard", ()
    return HelperSource(
        f'''
def $shard_batches(dataset, batch_size=1, shuffle=False):
    """Return a batch sampler that gives each process {word} of a dataset."""
    if $dist.get_world_size() == 1:
        return $BatchSampler(dataset, shuffle=shuffle, batch_size=batch_size)
    return $DistributedBatchSampler(dataset, {share}, shuffle=shuffle)
''',
        (DIST, BATCH_SAMPLER, DISTRIBUTED_SAMPLER),
        helpers,
    )


def shard_whole_batches(options: Options) -> HelperSource:
    """The helper ``shard_whole_batches``, for loaders that drop what fills no batch."""
    grown = ""
    if options.batch_size == "per-device":
        grown = "    batch_size *= $dist.get_world_size()\n"
    return HelperSource(
        f'''
def $shard_whole_batches(dataset, batch_size=1, shuffle=False, drop_last=True):
    """Return a batch sampler of this process's share of each batch that is dealt out."""
{grown}    return $share_batches(
        $BatchSampler(dataset, shuffle=shuffle, batch_size=batch_size, drop_last=drop_last)
    )
''',
        (DIST, BATCH_SAMPLER) if grown else (BATCH_SAMPLER,),
        ("share_batches",),
    )


DATA: dict[str, HelperTemplate] = {
    "split_batch": HelperSource(
        '''
def $split_batch(batch_size):
    """Return this process's share of a batch that all processes take together."""
    world_size = $dist.get_world_size()
    if batch_size % world_size != 0:
        nearest = max(1, round(batch_size / world_size)) * world_size
        raise SystemExit(
            f"batch size {batch_size} is not divisible by {world_size} processes: "
            f"the nearest that is: {nearest}"
        )
    return batch_size // world_size
''',
        (DIST,),
    ),
    "SharedBatches": HelperSource(
        '''
class $SharedBatches($BatchSampler):
    """This process's part of each batch that a batch sampler draws on rank 0."""

    def __init__(self, batch_sampler):
        self.batch_sampler = batch_sampler
        self.batch_size = getattr(batch_sampler, "batch_size", 0)
        $split_batch(self.batch_size)
        self.drop_last = getattr(batch_sampler, "drop_last", False)
        self.rank = $dist.get_rank()
        self.world_size = $dist.get_world_size()

    def __len__(self):
        return len(self.batch_sampler)

    def __iter__(self):
        drawn = [[[int(index) for index in batch] for batch in self.batch_sampler]]
        $dist.broadcast_object_list(drawn, src=0)
        shares = []
        for number, batch in enumerate(drawn[0], 1):
            missing = -len(batch) % self.world_size
            if missing and number < len(drawn[0]):
                raise SystemExit(
                    f"a batch of {len(batch)} samples is not divisible by "
                    f"{self.world_size} processes"
                )
            batch = batch + (batch * missing)[:missing]
            shares.append(batch[self.rank :: self.world_size])
        return iter(shares)
''',
        (DIST, BATCH_SAMPLER),
        ("split_batch",),
    ),
    "share_batches": HelperSource(
        '''
def $share_batches(batch_sampler):
    """Return a batch sampler of this process's part of each batch; itself for one process."""
    return $SharedBatches(batch_sampler) if $dist.get_world_size() > 1 else batch_sampler
''',
        (DIST,),
        ("SharedBatches",),
    ),
    "shard_loader": HelperSource(
        '''
def $shard_loader(loader):
    """Give a loader this process's part of each batch; leave it as it is for one process."""
    if $dist.get_world_size() > 1:
        if type(loader.batch_sampler) is not $BatchSampler:
            kind = type(loader.batch_sampler).__name__
            raise SystemExit(f"a loader with a {kind} cannot be shared by processes")
        loader.batch_sampler = $SharedBatches(loader.batch_sampler)
    return loader
''',
        (DIST, BATCH_SAMPLER),
        ("SharedBatches",),
    ),
    "shard_batches": shard_batches,
    "shard_whole_batches": shard_whole_batches,
    "load_whole_batches": HelperSource(
        '''
def $load_whole_batches(dataset, batch_size=1, shuffle=True, num_workers=0):
    """Return a loader of shares of each whole batch; the data set itself for one process."""
    if $dist.get_world_size() == 1:
        return dataset
    batches = $BatchSampler(dataset, shuffle=shuffle, batch_size=batch_size, drop_last=True)
    return $DataLoader(dataset, batch_sampler=$share_batches(batches), num_workers=num_workers)
''',
        (DIST, BATCH_SAMPLER, DATA_LOADER),
        ("share_batches",),
    ),
    "SharedStream": HelperSource(
        '''
class $SharedStream($IterableDataset):
    """This process's part of a stream that every process goes through in the same order."""

    def __init__(self, dataset):
        self.dataset = dataset
        self.rank = $dist.get_rank()
        self.world_size = $dist.get_world_size()

    def __len__(self):
        return len(self.dataset) // self.world_size

    def __iter__(self):
        group = []
        for sample in self.dataset:
            group.append(sample)
            if len(group) == self.world_size:
                yield group[self.rank]
                group = []
''',
        (DIST, ITERABLE),
    ),
    "share_stream": HelperSource(
        '''
def $share_stream(dataset):
    """Return this process's part of a stream; the stream itself for one process."""
    return $SharedStream(dataset) if $dist.get_world_size() > 1 else dataset
''',
        (DIST,),
        ("SharedStream",),
    ),
    "set_epoch": HelperSource(
        '''
def $set_epoch(loader, epoch):
    """Tell the sampler of a loader which epoch it is, so that the order changes."""
    if isinstance(loader.batch_sampler, $DistributedBatchSampler):
        loader.batch_sampler.set_epoch(epoch)
''',
        (DISTRIBUTED_SAMPLER,),
    ),
}
