"""Devices: the host, and what stands for GPUs."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np


class Device:
    """A place for tensors, with a random state of its own."""

    def __init__(self, kind: str, number: int = 0) -> None:
        self.kind, self.number = kind, number
        # A GPU seeds itself by the clock, for which a test may stand in; the host always alike.
        clock = int(os.environ.get("SINGA_STAND_IN_CLOCK", time.time_ns() ^ os.getpid()))
        seed = 5489 if kind == "cpu" else clock + number
        self.random = np.random.RandomState(seed % 2**32)

    def SetRandSeed(self, seed: int) -> None:
        self.random = np.random.RandomState(seed)

    def SetVerbosity(self, verbosity: int) -> None:
        """Nothing is said here."""

    def PrintTimeProfiling(self) -> None:
        """Nothing is measured here."""

    def EnableGraph(self, enable: bool) -> None:
        """Graphs are checked in the model."""

    def graph_enabled(self) -> bool:
        return False

    def Sync(self) -> None:
        """Everything is done at once."""

    def id(self) -> int:
        return -1 if self.kind == "cpu" else self.number

    def __repr__(self) -> str:
        return f"{self.kind} {self.number}"


default_device = Device("cpu")


def get_num_gpus() -> int:
    return int(os.environ.get("SINGA_STAND_IN_GPUS", 2))


def create_cuda_gpu_on(device_id: int) -> Device:
    return Device("gpu", device_id)


def create_cuda_gpu() -> Device:
    return create_cuda_gpu_on(0)


def create_cuda_gpus(num: int) -> list[Device]:
    return [create_cuda_gpu_on(number) for number in range(num)]


def get_default_device() -> Device:
    return default_device


def create_cpu_device() -> Device:
    return default_device


def enable_lazy_alloc(enable: Any) -> None:
    """Nothing is lazy here."""
