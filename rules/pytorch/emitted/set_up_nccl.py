"""The set-up of what communicates through NCCL alone."""

import os

import torch
import torch.distributed as dist

from transpile.rules.pytorch.emitted.processes import own_gpu


def setup_distributed():
    """Join the process group that torchrun describes; stay one process without it."""
    if "RANK" not in os.environ:
        return
    if not torch.cuda.is_available():
        raise SystemExit("the backend nccl needs a GPU in every process")
    torch.cuda.set_device(own_gpu())
    dist.init_process_group("nccl")
