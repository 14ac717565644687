"""Running the processes of one job on this machine.

Ranks of scripts that use torch are forked from processes that have imported it, one for each rank.
"""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Protocol

from forked_torch import Waiting

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
        with ExitStack() as stack:
            files = [output_files(stack) for _ in own]
            processes = [
                waiting(rank).start(
                    script, variables_of(environment, variables), out.fileno(), errors.fileno()
                )
                for rank, (variables, (out, errors)) in enumerate(zip(own, files, strict=True))
            ]
            return ended(processes, files, limit)


@cache
def waiting(rank: int) -> Waiting:
    """The process that ranks of a number are forked from; a test run needs a few of them."""
    return Waiting()


def run_all(
    commands: Sequence[Sequence[str]],
    folder: Path,
    own: Sequence[dict[str, str]],
    environment: dict[str, str],
    limit: float = LIMIT,
) -> list[Ended]:
    """Run some commands side by side, each with variables of its own, and end what is left."""
    with ExitStack() as stack:
        files = [output_files(stack) for _ in own]
        processes = [
            Started(
                command,
                cwd=folder,
                env=variables_of(environment, variables),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=errors,
            )
            for command, variables, (out, errors) in zip(commands, own, files, strict=True)
        ]
        return ended(processes, files, limit)


class Process(Protocol):
    """What was started, and may have ended."""

    def poll(self) -> int | None:
        """Its exit status; None while it runs."""

    def kill(self) -> None:
        """End it."""


class Started(subprocess.Popen[bytes]):
    """A process of its own; ending it waits for its end."""

    def kill(self) -> None:
        """End it."""
        super().kill()
        self.wait()


def output_files(stack: ExitStack) -> tuple[IO[str], IO[str]]:
    """Files for what a process says, and for its errors."""
    return (
        stack.enter_context(tempfile.TemporaryFile("w+")),
        stack.enter_context(tempfile.TemporaryFile("w+")),
    )


def variables_of(*several: Mapping[str, str]) -> dict[str, str]:
    """The variables of a process."""
    found = {**os.environ, "OMP_NUM_THREADS": "1"}
    for variables in several:
        found.update(variables)
    return found


def ended(
    processes: Sequence[Process], files: Sequence[tuple[IO[str], IO[str]]], limit: float
) -> list[Ended]:
    """What processes left, of which those that do not end by themselves are ended."""
    try:
        wait(processes, limit)
        statuses = [process.poll() for process in processes]
    finally:
        for process in processes:
            process.kill()
    return [
        Ended(status, said(out), said(errors))
        for status, (out, errors) in zip(statuses, files, strict=True)
    ]


def wait(processes: Sequence[Process], limit: float) -> None:
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
