"""Helpers for the process group and its ranks."""

import io
import os
import sys
from contextlib import contextmanager, redirect_stdout
from typing import Any, Callable, Iterator

import torch
import torch.distributed as dist


def own_gpu() -> int:
    """Return the number of this process's GPU."""
    rank = int(os.environ.get("LOCAL_RANK", os.environ["RANK"]))
    count = torch.cuda.device_count()
    shared = dist.is_initialized() and dist.get_backend() == "gloo"
    # Other launchers than torchrun may show each process its own GPU alone.
    if rank >= count and "TORCHELASTIC_RUN_ID" in os.environ and not shared:
        raise SystemExit(f"{count} GPUs here: use --nproc-per-node {count} or fewer")
    return rank % count


def setup_distributed(backend: str = "cpu:gloo,cuda:nccl") -> None:
    """Join the process group that torchrun describes; stay one process without it."""
    if "RANK" not in os.environ:
        sizes = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS")
        if any(int(os.environ.get(size, 1)) > 1 for size in sizes):
            raise SystemExit("several tasks but no RANK: start them with torchrun")
        return
    if backend != "gloo" and torch.cuda.is_available():
        rank = int(os.environ.get("LOCAL_RANK", os.environ["RANK"]))
        torch.cuda.set_device(rank % torch.cuda.device_count())
    else:
        backend = "gloo"
    dist.init_process_group(backend)


def cleanup_distributed() -> None:
    """Leave the process group once every process has arrived here."""
    if dist.is_initialized():
        # Kept beyond this call: Gloo may hang where it is freed while the group is destroyed.
        cleanup_distributed.work = dist.barrier(async_op=True)
        cleanup_distributed.work.wait()
        dist.destroy_process_group()


def get_rank() -> int:
    """Return the rank of this process, from the launcher until the process group exists."""
    return dist.get_rank() if dist.is_initialized() else int(os.environ.get("RANK", 0))


def get_world_size() -> int:
    """Return the number of processes; 1 without a process group."""
    return dist.get_world_size() if dist.is_initialized() else 1


def is_main_process() -> bool:
    """Tell whether this process has rank 0, which alone writes files and prints."""
    return get_rank() == 0


def print_once(*args: Any, **kwargs: Any) -> None:
    """Print on the process with rank 0 alone."""
    if get_rank() == 0:
        print(*args, **kwargs)


def report_once(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that every process calls, and that prints on rank 0 alone."""

    def call(*args: Any, **kwargs: Any) -> Any:
        with redirect_stdout(sys.stdout if get_rank() == 0 else io.StringIO()):
            return function(*args, **kwargs)

    return call


def barrier() -> None:
    """Wait for all processes."""
    if dist.is_initialized():
        dist.barrier()


@contextmanager
def main_process_first() -> Iterator[None]:
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
