"""The helper functions for random states that processes share."""

from __future__ import annotations

from transpile.prelude import HelperSource, HelperTemplate
from transpile.rules.pytorch._helpers.names import CONTEXTMANAGER, DIST, NUMPY, RANDOM, TORCH

RANDOMNESS: dict[str, HelperTemplate] = {
    "share_random_state": HelperSource(
        '''
def $share_random_state():
    """Give every process the random state of rank 0, so that splits and weights agree."""
    if $get_world_size() > 1:
        states = [$random.getstate(), $torch.get_rng_state()]
        $dist.broadcast_object_list(states)
        $random.setstate(states[0])
        $torch.set_rng_state(states[1])
''',
        (DIST, RANDOM, TORCH),
        ("get_world_size",),
    ),
    "share_random_state_with_numpy": HelperSource(
        '''
def $share_random_state_with_numpy():
    """Give every process the random state of rank 0, so that splits and weights agree."""
    if $get_world_size() > 1:
        states = [$random.getstate(), $numpy.random.get_state(), $torch.get_rng_state()]
        $dist.broadcast_object_list(states)
        $random.setstate(states[0])
        $numpy.random.set_state(states[1])
        $torch.set_rng_state(states[2])
''',
        (DIST, RANDOM, TORCH, NUMPY),
        ("get_world_size",),
    ),
    "shared_randomness": HelperSource(
        '''
@$contextmanager
def $shared_randomness():
    """Let every process draw the random numbers of rank 0, and go on with its own."""
    states = [$random.getstate(), $torch.get_rng_state()]
    $share_random_state()
    yield
    if $get_rank() > 0:
        $random.setstate(states[0])
        $torch.set_rng_state(states[1])
''',
        (CONTEXTMANAGER, RANDOM, TORCH),
        ("get_rank", "share_random_state"),
    ),
    "shared_randomness_with_numpy": HelperSource(
        '''
@$contextmanager
def $shared_randomness_with_numpy():
    """Let every process draw the random numbers of rank 0, and go on with its own."""
    states = [$random.getstate(), $numpy.random.get_state(), $torch.get_rng_state()]
    $share_random_state_with_numpy()
    yield
    if $get_rank() > 0:
        $random.setstate(states[0])
        $numpy.random.set_state(states[1])
        $torch.set_rng_state(states[2])
''',
        (CONTEXTMANAGER, RANDOM, TORCH, NUMPY),
        ("get_rank", "share_random_state_with_numpy"),
    ),
}
