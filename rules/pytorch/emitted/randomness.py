"""Helpers for random states that processes share, and for those that differ."""

import random
import sys
from contextlib import contextmanager
from typing import Iterator

import torch
import torch.distributed as dist

from transpile.rules.pytorch.emitted.processes import get_rank, get_world_size


def share_random_state() -> None:
    """Give every process the random state of rank 0, so that splits and weights agree."""
    if get_world_size() > 1:
        numpy = sys.modules.get("numpy")
        states = [random.getstate(), torch.get_rng_state()]
        states.append(numpy and numpy.random.get_state())
        if torch.cuda.is_available():
            states.append(torch.cuda.get_rng_state())
        dist.broadcast_object_list(states)
        random.setstate(states[0])
        torch.set_rng_state(states[1])
        if numpy:
            numpy.random.set_state(states[2])
        if torch.cuda.is_available():
            torch.cuda.set_rng_state(states[3])


@contextmanager
def shared_randomness() -> Iterator[None]:
    """Let every process draw the random numbers of rank 0, and go on with its own."""
    numpy = sys.modules.get("numpy")
    states = [random.getstate(), torch.get_rng_state()]
    states.append(numpy and numpy.random.get_state())
    if torch.cuda.is_available():
        states.append(torch.cuda.get_rng_state())
    share_random_state()
    yield
    if get_rank() > 0:
        random.setstate(states[0])
        torch.set_rng_state(states[1])
        if numpy:
            numpy.random.set_state(states[2])
        if torch.cuda.is_available():
            torch.cuda.set_rng_state(states[3])


@contextmanager
def unchanged_randomness() -> Iterator[None]:
    """Leave random numbers where they are, so that what follows draws the same once more."""
    plain, numpy = sys.modules["random"], sys.modules.get("numpy")
    drawn = plain.getstate(), numpy and numpy.random.get_state()
    devices = [torch.cuda.current_device()] if torch.cuda.is_available() else []
    try:
        with torch.random.fork_rng(devices):
            yield
    finally:
        plain.setstate(drawn[0])
        if numpy:
            numpy.random.set_state(drawn[1])


def shared_seed() -> int:
    """Return the random seed of rank 0, the same on every process."""
    seed = [torch.initial_seed()]
    dist.broadcast_object_list(seed)
    return seed[0]


def vary_seed() -> None:
    """Give every rank random numbers of its own; rank 0 goes on with those of one process."""
    if get_rank() > 0:
        seed = torch.initial_seed() + get_rank()
        random.seed(seed)
        torch.manual_seed(seed)
        if "numpy" in sys.modules:
            sys.modules["numpy"].random.seed(seed % 2**32)
