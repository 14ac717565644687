"""The helper functions for decisions and numbers that all processes share."""

from __future__ import annotations

from transpile.prelude import HelperSource, HelperTemplate
from transpile.rules.pytorch._helpers.names import DIST, TORCH

NUMBERS: dict[str, HelperTemplate] = {
    "from_main_process": HelperSource(
        '''
def $from_main_process(value):
    """Return what rank 0 has, so that every process decides alike."""
    if $get_world_size() == 1:
        return value
    if $torch.is_tensor(value):
        device = value.device
        value = value.item() if value.numel() == 1 else value.cpu()
    values = [value]
    $dist.broadcast_object_list(values)
    value = values[0]
    return value.to(device) if $torch.is_tensor(value) else value
''',
        (DIST, TORCH),
        ("get_world_size",),
    ),
    "any_rank": HelperSource(
        '''
def $any_rank(flag):
    """Tell whether the flag is set on any rank, so that all skip the same step."""
    if $get_world_size() == 1:
        return flag
    device = "cuda" if $dist.get_backend() == "nccl" else "cpu"
    flags = $torch.tensor(int(flag), device=device)
    $dist.all_reduce(flags, op=$dist.ReduceOp.MAX)
    return bool(flags)
''',
        (DIST, TORCH),
        ("get_world_size",),
    ),
    "all_ranks": HelperSource(
        '''
def $all_ranks(flag):
    """Tell whether the flag is set on every rank, so that all take the same step."""
    if $get_world_size() == 1:
        return flag
    device = "cuda" if $dist.get_backend() == "nccl" else "cpu"
    flags = $torch.tensor(int(flag), device=device)
    $dist.all_reduce(flags, op=$dist.ReduceOp.MIN)
    return bool(flags)
''',
        (DIST, TORCH),
        ("get_world_size",),
    ),
    "reduce_sum": HelperSource(
        '''
def $reduce_sum(tensor):
    """Return the sum of a tensor over all processes; the tensor itself for one process."""
    if not $dist.is_initialized():
        return tensor
    total = tensor.detach().clone()
    if $dist.get_backend() == "nccl":
        total = total.cuda()
    $dist.all_reduce(total)
    return total.to(tensor.device)
''',
        (DIST,),
    ),
    "reduce_mean": HelperSource(
        '''
def $reduce_mean(tensor):
    """Return the mean of a tensor over all processes; the tensor itself for one process."""
    if not $dist.is_initialized():
        return tensor
    return $reduce_sum(tensor) / $dist.get_world_size()
''',
        (DIST,),
        ("reduce_sum",),
    ),
    "reduce_mean_in_training": HelperSource(
        '''
def $reduce_mean_in_training(tensor):
    """Return its mean over all processes where gradients are taken; the tensor itself elsewhere."""
    return $reduce_mean(tensor) if $torch.is_grad_enabled() else tensor
''',
        (TORCH,),
        ("reduce_mean",),
    ),
    "mean_size": HelperSource(
        '''
def $mean_size(tensor):
    """Return the number of elements of a tensor, on average over all processes."""
    return $reduce_mean($torch.tensor(float(tensor.numel()), device=tensor.device))
''',
        (TORCH,),
        ("reduce_mean",),
    ),
    "selected_mean": HelperSource(
        '''
def $selected_mean(tensor):
    """Return the mean of selected entries, of which each process has as many as it has."""
    return tensor.sum() / $mean_size(tensor)
''',
        (),
        ("mean_size",),
    ),
    "reduce_number": HelperSource(
        '''
def $reduce_number(number):
    """Return the mean of a number over all processes; the number itself for one process."""
    if not $dist.is_initialized():
        return number
    device = "cuda" if $dist.get_backend() == "nccl" else "cpu"
    total = $torch.tensor(float(number), dtype=$torch.float64, device=device)
    $dist.all_reduce(total)
    return total.item() / $dist.get_world_size()
''',
        (DIST, TORCH),
    ),
    "shard_count": HelperSource(
        '''
def $shard_count(loader):
    """Return how many processes share the data of a loader."""
    return getattr(loader.sampler, "num_replicas", 1)
''',
    ),
    "reduce_shards": HelperSource(
        '''
def $reduce_shards(tensor, loader):
    """Return the sum of a tensor over the processes that share the data of a loader."""
    return $reduce_sum(tensor) if $shard_count(loader) > 1 else tensor
''',
        (),
        ("reduce_sum", "shard_count"),
    ),
}
