"""The helper functions for evaluations that are sharded."""

from __future__ import annotations

from transpile.prelude import HelperSource, HelperTemplate
from transpile.rules.paddle._helpers.names import (
    BATCH_SAMPLER,
    DATA_LOADER,
    DIST,
    ITERABLE,
    NUMPY,
    PADDLE,
)

EVALUATION: dict[str, HelperTemplate] = {
    "OwnBatches": HelperSource(
        '''
class $OwnBatches($BatchSampler):
    """This process's block of the batches that a batch sampler draws on rank 0."""

    def __init__(self, batch_sampler):
        self.batch_sampler = batch_sampler
        self.batch_size = getattr(batch_sampler, "batch_size", 1)
        self.drop_last = getattr(batch_sampler, "drop_last", False)
        self.rank = $dist.get_rank()
        self.world_size = $dist.get_world_size()

    def __len__(self):
        count, rank = len(self.batch_sampler), self.rank
        return (rank + 1) * count // self.world_size - rank * count // self.world_size

    def __iter__(self):
        drawn = [[[int(index) for index in batch] for batch in self.batch_sampler]]
        $dist.broadcast_object_list(drawn, src=0)
        count = len(drawn[0])
        first = self.rank * count // self.world_size
        last = (self.rank + 1) * count // self.world_size
        yield from drawn[0][first:last]
''',
        (DIST, BATCH_SAMPLER),
    ),
    "own_batches": HelperSource(
        '''
def $own_batches(loader):
    """Return this process's block of a loader's batches; all of them for one process."""
    if $dist.get_world_size() == 1:
        return loader
    if type(loader) is not $DataLoader or isinstance(loader.dataset, $IterableDataset):
        # Its batches cannot be told apart before they are drawn.
        return loader if $dist.get_rank() == 0 else []
    names = ["feed_list", "places", "return_list", "collate_fn", "num_workers"]
    names += ["use_buffer_reader", "use_shared_memory", "timeout", "worker_init_fn"]
    return $DataLoader(
        loader.dataset,
        batch_sampler=$OwnBatches(loader.batch_sampler),
        **{name: getattr(loader, name) for name in names},
    )
''',
        (DIST, DATA_LOADER, ITERABLE),
        ("OwnBatches",),
    ),
    "gather_totals": HelperSource(
        '''
def $gather_totals(totals):
    """Return what each total is on every process, in the order of the ranks."""
    stream, streams = $io.BytesIO(), []
    pickler = $pickle.Pickler(stream)
    pickler.dispatch_table = {$paddle.Tensor: lambda one: ($paddle.to_tensor, (one.numpy(),))}
    pickler.dump(totals)
    $dist.all_gather_object(streams, stream.getvalue())
    return zip(*($pickle.loads(one) for one in streams))
''',
        (DIST, ("io", "io"), ("pickle", "pickle"), PADDLE),
    ),
    "sum_totals": HelperSource(
        '''
def $sum_totals(*totals):
    """Return the sum of each total over all processes; the totals themselves for one."""
    if $dist.get_world_size() == 1:
        return totals
    return tuple(sum(parts) for parts in $gather_totals(totals))
''',
        (DIST,),
        ("gather_totals",),
    ),
    "add_up_counts": HelperSource(
        '''
def $add_up_counts(*counts):
    """Return what lists and dicts count on all processes together; themselves for one."""
    if $dist.get_world_size() == 1:
        return counts

    def added(first, second):
        if isinstance(first, dict):
            both = first.copy()
            for key, count in second.items():
                both[key] = added(both[key], count) if key in both else count
            return both
        if isinstance(first, list):
            return [added(*pair) for pair in zip(first, second)]
        return first + second

    return tuple($functools.reduce(added, parts) for parts in $gather_totals(counts))
''',
        (DIST, ("functools", "functools")),
        ("gather_totals",),
    ),
    "join_lists": HelperSource(
        '''
def $join_lists(*lists):
    """Return the lists of all processes behind each other; the lists themselves for one."""
    if $dist.get_world_size() == 1:
        return lists
    return tuple(sum(parts, []) for parts in $gather_totals(lists))
''',
        (DIST,),
        ("gather_totals",),
    ),
    "join_tensors": HelperSource(
        '''
def $join_tensors(*tensors):
    """Return the tensors of all processes behind each other; the tensors themselves for one."""
    if $dist.get_world_size() == 1:
        return tensors
    return tuple($paddle.concat(list(parts)) for parts in $gather_totals(tensors))
''',
        (DIST, PADDLE),
        ("gather_totals",),
    ),
    "join_arrays": HelperSource(
        '''
def $join_arrays(*arrays):
    """Return the arrays of all processes behind each other; the arrays themselves for one."""
    if $dist.get_world_size() == 1:
        return arrays
    return tuple($np.concatenate(parts) for parts in $gather_totals(arrays))
''',
        (DIST, NUMPY),
        ("gather_totals",),
    ),
}
