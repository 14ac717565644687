"""The set-up that tells PyTorch which GPU a process has."""

import os

import torch
import torch.distributed as dist


def setup_distributed(backend: str = "cpu:gloo,cuda:nccl") -> None:
    """Join the process group that torchrun describes; stay one process without it."""
    if "RANK" not in os.environ:
        sizes = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS")
        if any(int(os.environ.get(size, 1)) > 1 for size in sizes):
            raise SystemExit("several tasks but no RANK: start them with torchrun")
        return
    device = None
    if backend != "gloo" and torch.cuda.is_available():
        rank = int(os.environ.get("LOCAL_RANK", os.environ["RANK"]))
        device = torch.device("cuda", rank % torch.cuda.device_count())
        torch.cuda.set_device(device)
    dist.init_process_group(backend if device else "gloo", device_id=device)
