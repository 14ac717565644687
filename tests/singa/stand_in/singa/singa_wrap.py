"""What SINGA wraps of its C++ part: the communicator of several processes."""

from __future__ import annotations

import os
import tempfile
import time
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Any

import numpy as np

USE_CUDA = True


class NcclIdHolder:
    """The ticket with which processes find each other."""

    def __init__(self) -> None:
        self.address = str(Path(tempfile.mkdtemp()) / "nccl")


class Communicator:
    """Adds tensors up over all processes, which are those of MPI or hold one ticket."""

    def __init__(self, *arguments: Any) -> None:
        if len(arguments) == 1:
            # Of MPI: a process that mpiexec did not start is a world of its own.
            self.global_rank = int(os.environ.get("OMPI_COMM_WORLD_RANK", 0))
            self.world_size = int(os.environ.get("OMPI_COMM_WORLD_SIZE", 1))
            self.local_rank = int(os.environ.get("OMPI_COMM_WORLD_LOCAL_RANK", self.global_rank))
            address = os.environ.get("SINGA_STAND_IN_ADDRESS", "")
        else:
            self.local_rank, self.world_size, holder, _ = arguments
            self.global_rank, address = self.local_rank, holder.address
        self.others: list[Connection] = []
        self.sums = 0
        self.join(address)

    def join(self, address: str) -> None:
        """Connect rank 0 with all others."""
        if self.world_size == 1:
            return
        if self.global_rank == 0:
            with Listener(address, "AF_UNIX", backlog=self.world_size) as listener:
                found = [listener.accept() for _ in range(self.world_size - 1)]
            self.others = [one for _, one in sorted((each.recv(), each) for each in found)]
            return
        for _ in range(600):
            try:
                self.others = [Client(address, "AF_UNIX")]
                break
            except (FileNotFoundError, ConnectionRefusedError):
                time.sleep(0.02)
        self.others[0].send(self.global_rank)

    def synch(self, tensor: Any) -> None:
        """Replace a tensor by its sum over all processes."""
        if tensor.device.kind != "gpu" or tensor.device.number != self.local_rank:
            raise RuntimeError(f"NCCL of GPU {self.local_rank} cannot reach {tensor.device}")
        self.sums += 1
        if self.world_size == 1:
            return
        if self.global_rank != 0:
            self.others[0].send(tensor.array)
            tensor.array[...] = self.others[0].recv()
            return
        parts = [tensor.array, *(one.recv() for one in self.others)]
        if any(part.shape != tensor.array.shape for part in parts):
            raise RuntimeError(f"processes add up {[part.shape for part in parts]}")
        total = np.sum(parts, axis=0)
        for one in self.others:
            one.send(total)
        tensor.array[...] = total

    def wait(self) -> None:
        """All sums are there at once."""
