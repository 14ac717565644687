"""The loop that takes its batches from rank 0."""

import io
import pickle
import sys
from typing import Any, Iterable, Iterator

import torch
import torch.distributed as dist

from transpile.rules.pytorch.emitted.devices import own_location


def batches_of_main_process(batches: Iterable[Any]) -> Iterator[Any]:
    """Yield what rank 0 draws, on every rank, with the random state that rank 0 has then."""
    if not dist.is_initialized():
        yield from batches
        return
    iterator = iter(batches if dist.get_rank() == 0 else ())
    # Not imported: a script that draws from neither need not seed them.
    random, numpy = sys.modules["random"], sys.modules.get("numpy")
    while True:
        drawn = list(next(zip(iterator), ()))
        states = [random.getstate(), torch.get_rng_state()]
        states.append(numpy and numpy.random.get_state())
        if torch.cuda.is_available():
            states.append(torch.cuda.get_rng_state())
        stream = io.BytesIO()
        torch.save((drawn, states), stream)
        streams = [stream.getvalue()]
        dist.broadcast_object_list(streams)
        drawn, states = torch.load(io.BytesIO(streams[0]), own_location, pickle)
        random.setstate(states[0])
        torch.set_rng_state(states[1])
        if numpy is not None:
            numpy.random.set_state(states[2])
        if states[3:]:
            torch.cuda.set_rng_state(states[3])
        if not drawn:
            return
        yield drawn[0]
