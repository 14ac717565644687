"""Helpers that put this process's GPU in the place of any."""

import os
from typing import Any

import torch

from transpile.rules.pytorch.emitted.processes import own_gpu


def own_device(device: Any) -> Any:
    """Return this process's GPU in place of any GPU, where a launcher started it."""
    if "RANK" in os.environ and torch.cuda.is_available():
        if isinstance(device, int) and device >= 0:
            return own_gpu()
        if str(device) == "cuda" and torch.cuda.current_device() == own_gpu():
            return device  # Without a number, as the script may compare it.
        if str(device).startswith("cuda"):
            return type(device)(f"cuda:{own_gpu()}")
    return device


def use_own_gpu() -> None:
    """Let this thread use the GPU of its process: every thread begins with the first one."""
    if "RANK" in os.environ and torch.cuda.is_available():
        torch.cuda.set_device(own_gpu())


def own_gpus(device_ids: Any = None) -> Any:
    """Return this process's GPU in place of several, where a launcher started it."""
    if "RANK" in os.environ and torch.cuda.is_available():
        return [own_gpu()]
    return device_ids


def own_device_map(device_map: Any) -> Any:
    """Put all of a model onto this process's GPU, where a launcher started it."""
    if "RANK" in os.environ and torch.cuda.is_available():
        if device_map not in (None, "cpu"):
            return {"": own_gpu()}
    return device_map


def own_location(storage: Any, location: str) -> Any:
    """Load what was saved from a GPU onto this process's GPU, where a launcher started it."""
    if "RANK" in os.environ and location.startswith("cuda"):
        return storage.cuda(own_gpu())
