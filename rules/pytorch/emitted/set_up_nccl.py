"""The set-up of what communicates through NCCL alone."""

import os

import torch
import torch.distributed as dist


def setup_distributed() -> None:
    """Join the process group that torchrun describes; stay one process without it."""
    if "RANK" not in os.environ:
        sizes = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS")
        if any(int(os.environ.get(size, 1)) > 1 for size in sizes):
            raise SystemExit("several tasks but no RANK: start them with torchrun")
        return
    if not torch.cuda.is_available():
        raise SystemExit("the backend nccl needs a GPU in every process")
    rank = int(os.environ.get("LOCAL_RANK", os.environ["RANK"]))
    torch.cuda.set_device(rank % torch.cuda.device_count())
    dist.init_process_group("nccl")
