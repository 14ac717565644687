"""The set-up that tells PyTorch which GPU a process has."""

import os

import torch
import torch.distributed as dist

from transpile.rules.pytorch.emitted.processes import own_gpu


def setup_distributed(backend="cpu:gloo,cuda:nccl"):
    """Join the process group that torchrun describes; stay one process without it."""
    if "RANK" not in os.environ:
        return
    device = None
    if backend != "gloo" and torch.cuda.is_available():
        device = torch.device("cuda", own_gpu())
        torch.cuda.set_device(device)
    dist.init_process_group(backend if device else "gloo", device_id=device)
