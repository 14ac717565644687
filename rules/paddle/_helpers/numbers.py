"""The helper functions for numbers over all processes, and decisions by them."""

from __future__ import annotations

from transpile.prelude import HelperSource, HelperTemplate
from transpile.rules.paddle._helpers.names import DIST, PADDLE

NUMBERS: dict[str, HelperTemplate] = {
    "reduce_sum": HelperSource(
        '''
def $reduce_sum(value):
    """Return the sum of a tensor or number over all processes; itself for one process."""
    if $dist.get_world_size() == 1:
        return value
    if not isinstance(value, $paddle.Tensor):
        total = $paddle.to_tensor(value, dtype="int64" if isinstance(value, int) else "float64")
        $dist.all_reduce(total)
        return total.item()
    total = value.detach().clone()
    $dist.all_reduce(total)
    return total
''',
        (DIST, PADDLE),
    ),
    "reduce_mean": HelperSource(
        '''
def $reduce_mean(value):
    """Return the mean of a tensor or number over all processes; itself for one process."""
    if $dist.get_world_size() == 1:
        return value
    return $reduce_sum(value) / $dist.get_world_size()
''',
        (DIST,),
        ("reduce_sum",),
    ),
    "target_weights": HelperSource(
        '''
def $target_weights(weight, labels, ignore_index):
    """Return the sum of the class weights of the targets that are not left out."""
    left_out = labels == ignore_index
    classes = $paddle.where(left_out, $paddle.zeros_like(labels), labels)
    kept = 1 - left_out.astype(weight.dtype)
    return ($paddle.gather(weight, classes.flatten()) * kept.flatten()).sum()
''',
        (PADDLE,),
    ),
    "weight_of_share": HelperSource(
        '''
def $weight_of_share(counted):
    """Return what this process's mean counts for, by what it is taken over; 1 for one process."""
    if $dist.get_world_size() == 1:
        return 1.0
    own = float(counted)
    return own / ($reduce_mean(own) or 1.0)
''',
        (DIST,),
        ("reduce_mean",),
    ),
    "average_losses": HelperSource(
        '''
def $average_losses(losses):
    """Return the losses of the high-level interface as their means over all processes."""
    return [$reduce_mean($paddle.to_tensor(loss)).numpy() for loss in losses]
''',
        (PADDLE,),
        ("reduce_mean",),
    ),
    "from_main_process": HelperSource(
        '''
def $from_main_process(value):
    """Return what rank 0 has, so that every process decides alike."""
    if $dist.get_world_size() == 1:
        return value
    values = [value.item() if isinstance(value, $paddle.Tensor) else value]
    $dist.broadcast_object_list(values, src=0)
    return values[0]
''',
        (DIST, PADDLE),
    ),
    "any_rank": HelperSource(
        '''
def $any_rank(flag):
    """Tell whether the flag is set on any rank, so that all skip the same step."""
    if $dist.get_world_size() == 1:
        return flag
    flags = $paddle.to_tensor(int(flag))
    $dist.all_reduce(flags, op=$dist.ReduceOp.MAX)
    return bool(flags)
''',
        (DIST, PADDLE),
    ),
}
