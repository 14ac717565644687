"""The set-up for whatever kind of accelerator there is."""

import os

import torch
import torch.distributed as dist


def own_gpu():
    """Return the number of this process's accelerator."""
    rank = int(os.environ.get("LOCAL_RANK", os.environ["RANK"]))
    return rank % torch.accelerator.device_count()


def setup_distributed(backend=None):
    """Join the process group that torchrun describes; stay one process without it."""
    if "RANK" not in os.environ:
        return
    if backend is None and torch.accelerator.is_available():
        torch.accelerator.set_device_index(own_gpu())
        device = torch.accelerator.current_accelerator().type
        backend = f"cpu:gloo,{device}:{dist.get_default_backend_for_device(device)}"
    dist.init_process_group(backend or "gloo")
