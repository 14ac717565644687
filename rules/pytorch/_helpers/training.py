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
    flags = [int(p.grad is not None) for p in parameters]
    used = $torch.tensor(flags, device=parameters[0].device)
    $dist.all_reduce(used, op=$dist.ReduceOp.MAX)
    gradients = []
    for p, is_used in zip(parameters, used.tolist()):
        if is_used:
            p.grad = $torch.zeros_like(p) if p.grad is None else p.grad
            gradients.append(p.grad)
    if gradients:
        flat = $torch.cat([gradient.flatten() for gradient in gradients])
        $dist.all_reduce(flat)
        sizes = [gradient.numel() for gradient in gradients]
        parts = (flat / $get_world_size()).split(sizes)
        for gradient, part in zip(gradients, parts):
            gradient.copy_(part.view_as(gradient))
''',
        (DIST, TORCH),
        ("get_world_size",),
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
    if "RANK" in $os.environ:
        if isinstance(device, int) and device >= 0 and $torch.cuda.is_available():
            return $torch.cuda.current_device()
        if str(device).startswith("cuda"):
            return type(device)("cuda")
    return device
''',
        (OS, TORCH),
        without_group=True,
    ),
    "own_gpus": HelperSource(
        '''
def $own_gpus(device_ids=None):
    """Return this process's GPU in place of several, where a launcher started it."""
    if "RANK" in $os.environ and $torch.cuda.is_available():
        return [$torch.cuda.current_device()]
    return device_ids
''',
        (OS, TORCH),
        without_group=True,
    ),
    "own_location": HelperSource(
        '''
def $own_location(storage, location):
    """Load what was saved from a GPU onto this process's GPU, where a launcher started it."""
    if "RANK" in $os.environ and location.startswith("cuda"):
        return storage.cuda()
''',
        (OS,),
        without_group=True,
    ),
}
