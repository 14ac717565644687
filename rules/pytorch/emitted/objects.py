"""Helpers for objects that go from process to process, with the tensors that they hold."""

import io
import pickle
from typing import Any, List, Sequence

import torch
import torch.distributed as dist

from transpile.rules.pytorch.emitted.devices import own_location


def broadcast_object(obj: Any, root_rank: int = 0) -> Any:
    """Return an object as it is on one process; what it has on a GPU goes to the own one."""
    if not dist.is_initialized():
        return obj
    stream = io.BytesIO()
    if dist.get_rank() == root_rank:
        torch.save(obj, stream)
    streams = [stream.getvalue()]
    dist.broadcast_object_list(streams, root_rank)
    return torch.load(io.BytesIO(streams[0]), own_location, pickle)


def gather_objects(obj: Any) -> Sequence[Any]:
    """Return the objects of all processes; what they have on GPUs goes to the own one."""
    if not dist.is_initialized():
        return [obj]
    stream = io.BytesIO()
    torch.save(obj, stream)
    streams: List[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(streams, stream.getvalue())
    return [torch.load(io.BytesIO(one), own_location, pickle) for one in streams]
