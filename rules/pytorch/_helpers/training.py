"""The helper functions for seeds, wraps, gradients, learning rates and devices."""

from __future__ import annotations

from transpile.prelude import HelperSource, HelperTemplate
from transpile.rules.pytorch._helpers.names import DDP, DIST, NUMPY, OS, RANDOM, TORCH
from transpile.rules.pytorch._sharding_helpers import gradients_synchronised

TRAINING: dict[str, HelperTemplate] = {
    "shared_seed": HelperSource(
        '''
def $shared_seed():
    """Return the random seed of rank 0, the same on every process."""
    seed = [$torch.initial_seed()]
    $dist.broadcast_object_list(seed)
    return seed[0]
''',
        (DIST, TORCH),
    ),
    "vary_seed": HelperSource(
        '''
def $vary_seed():
    """Give every rank random numbers of its own; rank 0 goes on with those of one process."""
    if $get_rank() > 0:
        seed = $torch.initial_seed() + $get_rank()
        $random.seed(seed)
        $torch.manual_seed(seed)
''',
        (RANDOM, TORCH),
        ("get_rank",),
    ),
    "vary_seed_with_numpy": HelperSource(
        '''
def $vary_seed_with_numpy():
    """Give every rank random numbers of its own; rank 0 goes on with those of one process."""
    if $get_rank() > 0:
        seed = $torch.initial_seed() + $get_rank()
        $random.seed(seed)
        $numpy.random.seed(seed % 2**32)
        $torch.manual_seed(seed)
''',
        (RANDOM, TORCH, NUMPY),
        ("get_rank",),
    ),
    "wrap_thawed": HelperSource(
        '''
def $wrap_thawed(model):
    """Wrap a model so that parameters which are frozen now may learn later."""
    frozen = [p for p in model.parameters() if not p.requires_grad]
    for p in frozen:
        p.requires_grad = True
    wrapped = $DistributedDataParallel(model, find_unused_parameters=True)
    for p in frozen:
        p.requires_grad = False
    return wrapped
''',
        (DDP,),
    ),
    "average_gradients": HelperSource(
        '''
def $average_gradients(optimizer):
    """Average the gradients that an optimizer is about to use over all processes."""
    if $get_world_size() == 1:
        return
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    used = $reduce_sum($torch.tensor([float(p.grad is not None) for p in parameters]))
    alike = {}
    for p, count in zip(parameters, used.tolist()):
        if count:
            p.grad = $torch.zeros_like(p) if p.grad is None else p.grad
            alike.setdefault((p.device, p.dtype), []).append(p.grad)
    for gradients in alike.values():
        # Divided before they are added: in half precision the sum may not fit.
        flat = $torch.cat([g.flatten() for g in gradients]) / $get_world_size()
        parts = $reduce_sum(flat).split([g.numel() for g in gradients])
        for gradient, part in zip(gradients, parts):
            gradient.copy_(part.view_as(gradient))
''',
        (TORCH,),
        ("get_world_size", "reduce_sum"),
    ),
    "unwrap": HelperSource(
        '''
def $unwrap(model):
    """Return the model itself behind DistributedDataParallel."""
    return model.module if isinstance(model, $DistributedDataParallel) else model
''',
        (DDP,),
    ),
    "next_epoch": HelperSource(
        '''
def $next_epoch():
    """Return how often this was called before, which is the same on all processes."""
    $next_epoch.calls = getattr($next_epoch, "calls", -1) + 1
    return $next_epoch.calls
''',
        (),
        without_group=True,
    ),
    "barrier": HelperSource(
        '''
def $barrier():
    """Wait for all processes."""
    if $dist.is_initialized():
        $dist.barrier()
''',
        (DIST,),
    ),
    "gradients_synchronised": gradients_synchronised,
    "scale_learning_rate": HelperSource(
        '''
def $scale_learning_rate(learning_rate):
    """Return the learning rate for the batch of all processes together."""
    return learning_rate * $get_world_size()
''',
        (),
        ("get_world_size",),
    ),
    "scale_learning_rate_by_root": HelperSource(
        '''
def $scale_learning_rate_by_root(learning_rate):
    """Return the learning rate for the batch of all processes together."""
    return learning_rate * $get_world_size() ** 0.5
''',
        (),
        ("get_world_size",),
    ),
    "own_device": HelperSource(
        '''
def $own_device(device):
    """Return this process's GPU in place of any GPU, where a launcher started it."""
    if "RANK" in $os.environ and $torch.cuda.is_available():
        if isinstance(device, int) and device >= 0:
            return $own_gpu()
        if str(device).startswith("cuda"):
            return type(device)(f"cuda:{$own_gpu()}")
    return device
''',
        (OS, TORCH),
        ("own_gpu",),
        without_group=True,
    ),
    "own_gpus": HelperSource(
        '''
def $own_gpus(device_ids=None):
    """Return this process's GPU in place of several, where a launcher started it."""
    if "RANK" in $os.environ and $torch.cuda.is_available():
        return [$own_gpu()]
    return device_ids
''',
        (OS, TORCH),
        ("own_gpu",),
        without_group=True,
    ),
    "own_location": HelperSource(
        '''
def $own_location(storage, location):
    """Load what was saved from a GPU onto this process's GPU, where a launcher started it."""
    if "RANK" in $os.environ and location.startswith("cuda"):
        return storage.cuda($own_gpu())
''',
        (OS,),
        ("own_gpu",),
        without_group=True,
    ),
}
