"""Runs a script as one or several processes that are forked from this one.

This process has imported torch but has never computed with several threads, so that its children
can; a fork takes hundredths of a second, a new interpreter seconds.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import pickle
import signal
import sys
import tempfile
import time
import types
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ranks import held_port

from .observed import observe

_PAUSE = 0.003
_PATIENCE = 2.0


@dataclass(frozen=True)
class Rank:
    """What one process left.

    Args:
        status: its exit status; None where it had to be ended.
        output: what it printed.
        errors: what it said on standard error.
        steps: how many steps its optimizers made.
        parameters: what the optimizers hold at the end, as lists of numbers.
    """

    status: int | None
    output: str
    errors: str
    steps: int
    parameters: list[list[float]]


@dataclass(frozen=True)
class Job:
    """What the processes of one run left.

    Args:
        ranks: each process.
        files: the files in the folder where they ran, by name.
        hung: whether processes were still running at the limit though none had failed.
    """

    ranks: tuple[Rank, ...]
    files: Mapping[str, bytes]
    hung: bool

    @property
    def failed(self) -> bool:
        """Whether a process ended badly by itself."""
        return any(rank.status for rank in self.ranks)


def run(text: str, world_size: int, limit: float, disturbance: float = 0.0) -> Job:
    """Run a script in an empty folder; without a launcher if there is one process.

    Args:
        text: the script.
        world_size: how many processes.
        limit: after how many seconds those are ended that still run.
        disturbance: by which part of themselves parameters grow after the first step.
    """
    with tempfile.TemporaryDirectory(prefix="programs-") as name, held_port() as port:
        folder, beside = Path(name, "run"), Path(name, "beside")
        folder.mkdir()
        beside.mkdir()
        pids = []
        sys.stdout.flush()
        sys.stderr.flush()
        for rank in range(world_size):
            pid = os.fork()
            if pid == 0:
                _become(text, rank, world_size, port, folder, beside, disturbance)
            pids.append(pid)
        statuses, hung = _wait(pids, limit)
        ranks = tuple(_left(beside, rank, status) for rank, status in enumerate(statuses))
        files = {
            str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file() and "__pycache__" not in path.parts
        }
    return Job(ranks, files, hung)


def _wait(pids: list[int], limit: float) -> tuple[list[int | None], bool]:
    statuses: dict[int, int | None] = {}
    end = time.monotonic() + limit
    failed = False
    try:
        while len(statuses) < len(pids) and time.monotonic() < end:
            for pid in pids:
                if pid not in statuses:
                    ended, status = os.waitpid(pid, os.WNOHANG)
                    if ended:
                        statuses[pid] = os.waitstatus_to_exitcode(status)
            if not failed and any(statuses.values()):
                failed, end = True, min(end, time.monotonic() + _PATIENCE)
            time.sleep(_PAUSE)
    finally:
        left = [pid for pid in pids if pid not in statuses]
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            statuses[pid] = None
    return [statuses[pid] for pid in pids], bool(left) and not failed


def _left(beside: Path, rank: int, status: int | None) -> Rank:
    record: dict[str, Any] = {"steps": 0, "parameters": []}
    with contextlib.suppress(OSError, EOFError, pickle.UnpicklingError):
        record = pickle.loads((beside / f"record{rank}").read_bytes())
    output, errors = (
        (beside / f"{name}{rank}").read_text("utf-8", "replace") for name in ("out", "err")
    )
    return Rank(status, output, errors, record["steps"], record["parameters"])


def _become(
    text: str,
    rank: int,
    world_size: int,
    port: str,
    folder: Path,
    beside: Path,
    disturbance: float,
) -> None:
    """Be a rank: run the script and leave."""
    status = 1
    try:
        # What this process would do at its end is not the child's to do.
        atexit._clear()
        with contextlib.suppress(AttributeError, OSError):
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)
        for descriptor, name in ((1, "out"), (2, "err")):
            opened = os.open(beside / f"{name}{rank}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            os.dup2(opened, descriptor)
        sys.stdout = os.fdopen(1, "w", buffering=1, closefd=False)
        sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)
        os.chdir(folder)
        if world_size > 1:
            os.environ.update(
                RANK=str(rank),
                LOCAL_RANK=str(rank),
                WORLD_SIZE=str(world_size),
                MASTER_ADDR="127.0.0.1",
                MASTER_PORT=port,
                GLOO_SOCKET_IFNAME="lo",
            )
        status = _execute(text, beside / f"record{rank}", disturbance)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


def _execute(text: str, record: Path, disturbance: float) -> int:
    left = observe(disturbance)
    script = types.ModuleType("__main__")
    script.__file__ = "train.py"
    sys.modules["__main__"] = script
    sys.argv = ["train.py"]
    status = 0
    try:
        exec(compile(text, "train.py", "exec", dont_inherit=True), script.__dict__)
    except SystemExit as error:
        if isinstance(error.code, str):
            print(error.code, file=sys.stderr)
        status = error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException as error:
        trace = error.__traceback__
        sys.excepthook(type(error), error, trace.tb_next if trace is not None else None)
        status = 1
    atexit._run_exitfuncs()
    record.write_bytes(pickle.dumps(left()))
    return status
