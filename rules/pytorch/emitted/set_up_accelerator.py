"""The set-up for whatever kind of accelerator there is."""

import os
from typing import Optional

import torch
import torch.distributed as dist


def own_gpu() -> int:
    """Return the number of this process's accelerator."""
    rank = int(os.environ.get("LOCAL_RANK", os.environ["RANK"]))
    count = torch.accelerator.device_count()
    shared = dist.is_initialized() and dist.get_backend() == "gloo"
    # Other launchers than torchrun may show each process its own GPU alone.
    if rank >= count and "TORCHELASTIC_RUN_ID" in os.environ and not shared:
        raise SystemExit(f"{count} GPUs here: use --nproc-per-node {count} or fewer")
    return rank % count


def setup_distributed(backend: Optional[str] = None) -> None:
    """Join the process group that torchrun describes; stay one process without it."""
    if "RANK" not in os.environ:
        sizes = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS")
        if any(int(os.environ.get(size, 1)) > 1 for size in sizes):
            raise SystemExit("several tasks but no RANK: start them with torchrun")
        return
    if backend is None and torch.accelerator.is_available():
        rank = int(os.environ.get("LOCAL_RANK", os.environ["RANK"]))
        torch.accelerator.set_device_index(rank % torch.accelerator.device_count())
        device = torch.accelerator.current_accelerator().type
        backend = f"cpu:gloo,{device}:{dist.get_default_backend_for_device(device)}"
    dist.init_process_group(backend or "gloo")
