"""Helpers of a group that has NCCL alone."""

import torch
import torch.distributed as dist


def barrier() -> None:
    """Wait for all processes."""
    if dist.is_initialized():
        own = dist.get_backend() == "nccl"
        dist.barrier(device_ids=[torch.cuda.current_device()] if own else None)
