"""Helpers for the process group and its ranks."""

import os
from contextlib import contextmanager

import torch
import torch.distributed as dist


def own_gpu():
    """Return the number of this process's GPU."""
    rank = int(os.environ.get("LOCAL_RANK", os.environ["RANK"]))
    return rank % torch.cuda.device_count()


def setup_distributed(backend="cpu:gloo,cuda:nccl"):
    """Join the process group that torchrun describes; stay one process without it."""
    if "RANK" not in os.environ:
        return
    if backend != "gloo" and torch.cuda.is_available():
        torch.cuda.set_device(own_gpu())
    else:
        backend = "gloo"
    dist.init_process_group(backend)


def cleanup_distributed():
    """Leave the process group once every process has arrived here."""
    if dist.is_initialized():
        # Kept beyond this call: Gloo may hang where it is freed while the group is destroyed.
        cleanup_distributed.work = dist.barrier(async_op=True)
        cleanup_distributed.work.wait()
        dist.destroy_process_group()


def get_rank():
    """Return the rank of this process, from the launcher until the process group exists."""
    return dist.get_rank() if dist.is_initialized() else int(os.environ.get("RANK", 0))


def get_world_size():
    """Return the number of processes; 1 without a process group."""
    return dist.get_world_size() if dist.is_initialized() else 1


def is_main_process():
    """Tell whether this process has rank 0, which alone writes files and prints."""
    return get_rank() == 0


def print_once(*args, **kwargs):
    """Print on the process with rank 0 alone."""
    if get_rank() == 0:
        print(*args, **kwargs)


def barrier():
    """Wait for all processes."""
    if dist.is_initialized():
        dist.barrier()


@contextmanager
def main_process_first():
    """Let rank 0 go first, the first process of each other node, the rest; then all go on."""
    local_rank = int(os.environ.get("LOCAL_RANK", 0))
    turn = 0 if is_main_process() else 1 if local_rank == 0 else 2
    for _ in range(turn):
        barrier()
    try:
        yield
    finally:
        for _ in range(3 - turn):
            barrier()
