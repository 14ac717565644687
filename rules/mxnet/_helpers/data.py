"""The helper functions that give each worker its part of the data."""

from __future__ import annotations

from transpile.prelude import HelperSource, HelperTemplate
from transpile.rules.mxnet._helpers.names import COPY, MX, NUMPY
from transpile.rules.mxnet._helpers.samplers import sampler_share, shard_sampler

DATA_HELPERS: dict[str, HelperTemplate] = {
    "ShardSampler": shard_sampler,
    "shard": HelperSource(
        '''
def $shard(data, drop_last=False):
    """Return this worker's samples of arrays, as many as every other worker has."""
    if $store is None or data is None:
        return data
    if isinstance(data, dict):
        return {name: $shard(array, drop_last) for name, array in data.items()}
    if isinstance(data, (list, tuple)):
        return [$shard(array, drop_last) for array in data]
    workers = $get_num_workers()
    length = len(data) // workers if drop_last else -(-len(data) // workers)
    return data[$np.arange($get_rank(), length * workers, workers) % len(data)]
''',
        (NUMPY,),
        ("store", "get_rank", "get_num_workers"),
    ),
    "agree_on_length": HelperSource(
        '''
def $agree_on_length(iterator):
    """Return an iterator of as many batches as the worker with the fewest has."""
    if $store is None:
        return iterator
    counts = [0] * $get_num_workers()
    counts[$get_rank()] = sum(1 for _ in iterator)
    iterator.reset()
    return $mx.io.ResizeIter(iterator, int(min($all_reduce(counts))))
''',
        (MX,),
        ("store", "get_num_workers", "get_rank", "all_reduce"),
    ),
    "share_of": HelperSource(
        '''
def $share_of(rows, axis=0):
    """Return this worker's part of something that all workers have, padded to equal lengths."""
    length, workers = rows.shape[axis] if axis else len(rows), $get_num_workers()
    if length > $share_of.longest:
        $share_of.longest = length
        $split_batch(length)
    share = -(-length // workers)
    begin = min($get_rank() * share, length - share)
    if axis == 0:
        return rows[begin : begin + share]
    return rows[(slice(None),) * axis + (slice(begin, begin + share),)]


$share_of.longest = 0
''',
        (),
        ("get_rank", "get_num_workers", "split_batch"),
    ),
    "BatchShare": HelperSource(
        '''
class $BatchShare($mx.io.DataIter):
    """This worker's samples of each batch of an iterator that all workers go through."""

    def __init__(self, iterator):
        super().__init__($split_batch(iterator.batch_size))
        self.iterator = iterator

    def __getattr__(self, name):
        return getattr(self.iterator, name)

    @property
    def provide_data(self):
        return self.share_shapes(self.iterator.provide_data)

    @property
    def provide_label(self):
        return self.share_shapes(self.iterator.provide_label)

    def reset(self):
        self.iterator.reset()

    def __iter__(self):
        return map(self.share, iter(self.iterator))

    def __next__(self):
        return self.share(next(self.iterator))

    next = __next__

    @staticmethod
    def axes(descriptions):
        layouts = [getattr(each, "layout", "N") for each in descriptions]
        return [$mx.io.DataDesc.get_batch_axis(layout) for layout in layouts]

    def share_shapes(self, descriptions):
        shapes = []
        for each, axis in zip(descriptions or [], self.axes(descriptions or [])):
            shape = list(each[1])
            if axis >= 0:
                shape[axis] //= $get_num_workers()
            kind, layout = getattr(each, "dtype", $np.float32), getattr(each, "layout", "N")
            shapes.append($mx.io.DataDesc(each[0], tuple(shape), kind, layout))
        return shapes

    def share(self, batch):
        shared = $copy.copy(batch)
        for name, shapes in (("data", "provide_data"), ("label", "provide_label")):
            arrays = getattr(batch, name, None)
            if arrays is not None:
                known = getattr(batch, shapes, None)
                if known is None:
                    known = getattr(self.iterator, shapes, None)
                axes = self.axes(known or []) or [0] * len(arrays)
                parts = zip(arrays, axes)
                setattr(shared, name, [$share_of(a, i) if i >= 0 else a for a, i in parts])
                if vars(batch).get(shapes) is not None:
                    setattr(shared, shapes, self.share_shapes(known))
        if getattr(batch, "index", None) is not None:
            shared.index = $share_of(batch.index)
        if getattr(batch, "pad", None):
            last = self.batch_size * ($get_num_workers() - 1 - $get_rank())
            shared.pad = min(max(batch.pad - last, 0), self.batch_size)
        return shared
''',
        (MX, NUMPY, COPY),
        ("split_batch", "share_of", "get_rank", "get_num_workers"),
    ),
    "share_batches": HelperSource(
        '''
def $share_batches(iterator):
    """Return an iterator that gives this worker its samples of each batch."""
    return $BatchShare(iterator) if $store is not None else iterator
''',
        (),
        ("store", "BatchShare"),
    ),
    "SamplerShare": sampler_share,
    "BatchSamplerShare": HelperSource(
        '''
class $BatchSamplerShare:
    """This worker's samples of each batch that all workers take together."""

    def __init__(self, sampler):
        self.sampler = sampler

    def __len__(self):
        return len(self.sampler)

    def __iter__(self):
        return ($share_of(list(batch)) for batch in self.sampler)
''',
        (),
        ("share_of",),
    ),
}
