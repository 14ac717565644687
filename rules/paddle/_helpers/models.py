"""The helper functions for random numbers and models."""

from __future__ import annotations

from transpile.prelude import HelperSource, HelperTemplate
from transpile.rules.paddle._helpers.names import CONTEXTMANAGER, DIST, NUMPY, PADDLE, RANDOM

MODELS: dict[str, HelperTemplate] = {
    "share_random_state": HelperSource(
        '''
def $share_random_state():
    """Give every process the random state of rank 0, so that splits and weights agree."""
    if $dist.get_world_size() > 1:
        drawn = [int($np.random.randint(2**31 - 1))]
        $dist.broadcast_object_list(drawn, src=0)
        $np.random.seed(drawn[0])
        $paddle.seed(drawn[0])
''',
        (DIST, NUMPY, PADDLE),
    ),
    "share_all_random_states": HelperSource(
        '''
def $share_all_random_states():
    """Give every process the random state of rank 0, so that splits and weights agree."""
    if $dist.get_world_size() > 1:
        drawn = [$random.getrandbits(31)]
        $dist.broadcast_object_list(drawn, src=0)
        $random.seed(drawn[0])
        $np.random.seed(drawn[0])
        $paddle.seed(drawn[0])
''',
        (DIST, RANDOM, NUMPY, PADDLE),
    ),
    "take_random_states": HelperSource(
        '''
def $take_random_states():
    """Let every process draw what rank 0 draws: all of them make up the same batches."""
    if $dist.get_world_size() > 1:
        states = [$random.getstate(), $np.random.get_state(), $paddle.get_rng_state()]
        $dist.broadcast_object_list(states, src=0)
        $random.setstate(states[0])
        $np.random.set_state(states[1])
        $paddle.set_rng_state(states[2])
''',
        (DIST, RANDOM, NUMPY, PADDLE),
    ),
    "vary_random_numbers": HelperSource(
        '''
def $vary_random_numbers():
    """Let every process but that of rank 0 draw noise of its own from here on."""
    if $dist.get_rank() > 0:
        seed = int($np.random.randint(2**31 - 1)) ^ $dist.get_rank()
        $np.random.seed(seed)
        $paddle.seed(seed)
''',
        (DIST, NUMPY, PADDLE),
    ),
    "vary_all_random_numbers": HelperSource(
        '''
def $vary_all_random_numbers():
    """Let every process but that of rank 0 draw noise of its own from here on."""
    if $dist.get_rank() > 0:
        seed = $random.getrandbits(31) ^ $dist.get_rank()
        $random.seed(seed)
        $np.random.seed(seed)
        $paddle.seed(seed)
''',
        (DIST, RANDOM, NUMPY, PADDLE),
    ),
    "unwrap": HelperSource(
        '''
def $unwrap(model):
    """Return the model itself behind DataParallel."""
    return model._layers if isinstance(model, $paddle.DataParallel) else model
''',
        (PADDLE,),
    ),
    "share_buffers": HelperSource(
        '''
def $share_buffers(model):
    """Give every process the buffers of rank 0, such as the statistics of batch norm."""
    if $dist.get_world_size() > 1:
        # Batch norm keeps its statistics in parameters that do not learn.
        kept = [value for value in model.parameters() if value.stop_gradient]
        for value in [*model.buffers(), *kept]:
            $dist.broadcast(value, src=0)
''',
        (DIST,),
    ),
    "average_gradients": HelperSource(
        '''
def $average_gradients(optimizer):
    """Average the gradients that an optimizer is about to use over all processes."""
    if $dist.get_world_size() == 1:
        return
    groups = optimizer._param_groups
    held = [each["params"] if isinstance(each, dict) else [each] for each in groups]
    parameters = [p for params in held for p in params if not p.stop_gradient]
    used = $paddle.to_tensor([float(p.grad is not None) for p in parameters])
    $dist.all_reduce(used)
    for parameter, count in zip(parameters, used.tolist()):
        if count:
            own = parameter.grad
            total = $paddle.zeros_like(parameter) if own is None else own.detach().clone()
            $dist.all_reduce(total)
            parameter.grad = total / $dist.get_world_size()
''',
        (DIST, PADDLE),
    ),
    "gradients_synchronised": HelperSource(
        '''
@$contextmanager
def $gradients_synchronised(model, when):
    """Average the gradients over all processes now, or leave them to a later backward pass."""
    if when or not isinstance(model, $paddle.DataParallel):
        yield
    else:
        with model.no_sync():
            yield
''',
        (CONTEXTMANAGER, PADDLE),
    ),
}
