"""What the scripts that were converted by hand share."""

import os

import torch
import torch.distributed as dist


def setup():
    """Join the process group of torchrun; without it, stay one process."""
    if "RANK" in os.environ:
        backend = "gloo"
        if torch.cuda.is_available():
            torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
            backend = "cpu:gloo,cuda:nccl"
        dist.init_process_group(backend)


def cleanup():
    """Leave the process group."""
    if dist.is_initialized():
        dist.barrier()
        dist.destroy_process_group()


def rank():
    """Return the rank of this process."""
    return dist.get_rank() if dist.is_initialized() else 0


def world_size():
    """Return the number of processes."""
    return dist.get_world_size() if dist.is_initialized() else 1


def is_main():
    """Whether this process prints and writes."""
    return rank() == 0


def share_of(batch_size):
    """Return the part of a batch that one process takes."""
    if batch_size % world_size():
        raise SystemExit(f"{batch_size} samples cannot be shared by {world_size()} processes")
    return batch_size // world_size()


def mean(value):
    """Return the mean of a tensor over all processes."""
    if world_size() == 1:
        return value
    value = value.detach().clone()
    dist.all_reduce(value)
    return value / world_size()
