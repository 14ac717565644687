"""Running the processes of one job on this machine."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

#: How long a job may take on a slow machine.
LIMIT = 280.0
#: How long the others may go on when one process has failed.
PATIENCE = 30.0


@dataclass(frozen=True)
class Ended:
    """What one process left: its exit status, None where it had to be ended, and its words."""

    status: int | None
    output: str
    errors: str


@contextmanager
def held_port() -> Iterator[str]:
    """A port for a server that reuses addresses, as those of PyTorch do.

    It stays bound meanwhile, so that nobody else is given it.
    """
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        yield str(holder.getsockname()[1])


def run_ranks(
    script: Path, world_size: int, *, limit: float = LIMIT, **environment: str
) -> list[Ended]:
    """Run a script in its folder as so many ranks; as one process without a rank if that is 1.

    Args:
        script: the script.
        world_size: how many processes there are.
        limit: after how many seconds those are ended that still run.
        environment: further variables.
    """
    with held_port() as port:
        shared = {"WORLD_SIZE": str(world_size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        ranks = [
            {"RANK": str(rank), "LOCAL_RANK": str(rank), **shared} for rank in range(world_size)
        ]
        own = ranks if world_size > 1 else [{}]
        command = [sys.executable, script.name]
        return run_all([command] * len(own), script.parent, own, environment, limit)


def run_all(
    commands: Sequence[Sequence[str]],
    folder: Path,
    own: Sequence[dict[str, str]],
    environment: dict[str, str],
    limit: float = LIMIT,
) -> list[Ended]:
    """Run some commands side by side, each with variables of its own, and end what is left."""
    with ExitStack() as stack:
        files = [[stack.enter_context(tempfile.TemporaryFile("w+")) for _ in "oe"] for _ in own]
        processes = [
            subprocess.Popen(
                command,
                cwd=folder,
                env={**os.environ, "OMP_NUM_THREADS": "1", **environment, **variables},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=errors,
            )
            for command, variables, (out, errors) in zip(commands, own, files, strict=True)
        ]
        try:
            wait(processes, limit)
            statuses = [process.poll() for process in processes]
        finally:
            for process in processes:
                process.kill()
                process.wait()
        return [
            Ended(status, said(out), said(errors))
            for status, (out, errors) in zip(statuses, files, strict=True)
        ]


def wait(processes: Sequence[subprocess.Popen[bytes]], limit: float) -> None:
    """Wait until all have ended; not much longer once one has failed."""
    end = time.monotonic() + limit
    failed = False
    while any(process.poll() is None for process in processes) and time.monotonic() < end:
        if not failed and any(process.poll() for process in processes):
            failed, end = True, min(end, time.monotonic() + PATIENCE)
        time.sleep(0.05)


def said(file: IO[str]) -> str:
    """The text of a file from its beginning."""
    file.seek(0)
    return file.read()
