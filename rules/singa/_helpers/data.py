"""The helper functions between whole batches on the host and shares of them on the devices."""

from __future__ import annotations

from transpile.prelude import HelperSource, HelperTemplate
from transpile.rules.singa._helpers.names import NUMPY, TENSOR, ZLIB

SHARE_SIZE = '''
def $share_size(batch_size):
    """Return how many samples of a batch each process takes."""
    world_size = $get_world_size()
    if batch_size % world_size != 0:
        nearest = max(1, round(batch_size / world_size)) * world_size
        raise SystemExit(
            f"batch size {batch_size} is not divisible by {world_size} processes: "
            f"the nearest that is: {nearest}"
        )
    return batch_size // world_size
'''

DATA: dict[str, HelperTemplate] = {
    "share_size": HelperSource(SHARE_SIZE, (), ("get_world_size",), without_group=True),
    "share_shape": HelperSource(
        '''
def $share_shape(shape):
    """Return the shape of the samples of a batch that each process takes."""
    return ($share_size(shape[0]), *shape[1:])
''',
        (),
        ("share_size",),
        without_group=True,
    ),
    "add_up": HelperSource(
        '''
def $add_up(values):
    """Return the sum of an array over all processes."""
    shared = $shared_optimizer()
    reducer = $tensor.Tensor(values.shape, $own_gpu(), $tensor.float32)
    reducer.copy_from_numpy(values.astype($np.float32))
    shared.all_reduce(reducer.data)
    shared.wait()
    return $tensor.to_numpy(reducer).astype(values.dtype)
''',
        (NUMPY, TENSOR),
        ("shared_optimizer", "own_gpu"),
        without_group=True,
    ),
    "check_same": HelperSource(
        '''
def $check_same(batch, seen=[]):
    """Stop unless all processes have the same batch; only the first ones are compared."""
    if $get_world_size() == 1 or len(seen) == 8:
        return
    seen.append($zlib.crc32($np.ascontiguousarray(batch).tobytes()))
    halves = $np.array([seen[-1] & 0xFFFF, seen[-1] >> 16], $np.float32)
    if ($add_up(halves) != halves * $get_world_size()).any():
        raise SystemExit("the processes draw other batches: seed whatever is random here")
''',
        (ZLIB, NUMPY),
        ("get_world_size", "add_up"),
        without_group=True,
    ),
    "share_of": HelperSource(
        '''
def $share_of(batch):
    """Return this process's samples of a batch that all processes have."""
    size, rank = $share_size(len(batch)), $get_rank()
    $check_same(batch)
    return batch[rank * size : (rank + 1) * size]
''',
        (),
        ("share_size", "get_rank", "check_same"),
        without_group=True,
    ),
    "whole_of": HelperSource(
        '''
def $whole_of(rows):
    """Return the rows of all processes, in the order of the batch."""
    world_size, size = $get_world_size(), len(rows)
    if world_size == 1:
        return rows
    whole = $np.zeros((world_size * size, *rows.shape[1:]), rows.dtype)
    whole[$get_rank() * size : ($get_rank() + 1) * size] = rows
    return $add_up(whole)
''',
        (NUMPY,),
        ("get_world_size", "get_rank", "add_up"),
        without_group=True,
    ),
    "mean_of": HelperSource(
        '''
def $mean_of(values):
    """Return the mean of an array over all processes."""
    world_size = $get_world_size()
    return values if world_size == 1 else $add_up(values) / values.dtype.type(world_size)
''',
        (),
        ("get_world_size", "add_up"),
        without_group=True,
    ),
}
