"""Runs a script as one or several processes that are forked from this one.

This process has imported torch, and its children compute with one thread, as threads that it has
computed with do not come along; a fork takes hundredths of a second, a new interpreter seconds.
What torch sets up at its first steps takes as long as the steps of a small program, so that
processes may also run several in turn.
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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transpile.verify import pretend_cuda
from transpile.verify.worker.gpus import compute_alike, share

from .observed import agree_on_orders, beginning, meet_at, observe, offer_progress_bars

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


@dataclass(frozen=True)
class Gpus:
    """The GPUs that processes have, or pretend to have.

    Args:
        count: how many are pretended; 0 where those of the machine are used.
        noise: whether results of pretended ones differ from process to process in the last digits.
        launched: whether one process is a job of its own, which communicates.
    """

    count: int = 0
    noise: bool = False
    launched: bool = False


def run(
    text: str, world_size: int, limit: float, disturbance: float = 0.0, gpus: Gpus | None = None
) -> Job:
    """Run a script in an empty folder; without a launcher if there is one process.

    Args:
        text: the script.
        world_size: how many processes.
        limit: after how many seconds those are ended that still run.
        disturbance: by which part of themselves parameters grow after the first step.
        gpus: the GPUs that it has or pretends to have; None where it is run on the CPU.
    """
    return run_in_turn([(text, world_size)], limit, disturbance, gpus)[0]


def run_in_turn(
    turns: Sequence[tuple[str, int]],
    limit: float,
    disturbance: float = 0.0,
    gpus: Gpus | None = None,
) -> list[Job]:
    """Run scripts one after the other, in as few processes as will do; empty folders, as above.

    Only the jobs before the first that fails can be relied on, and those are all but the last that
    are given back; a process may leave to the next script what only its end would have cleared.
    """
    with tempfile.TemporaryDirectory(prefix="programs-") as name:
        places = []
        for number, (text, world_size) in enumerate(turns):
            folder, beside = Path(name, f"run{number}"), Path(name, f"beside{number}")
            folder.mkdir()
            beside.mkdir()
            launched = world_size > 1 or (gpus is not None and gpus.launched)
            places.append(Place(text, world_size, folder, beside, launched))
        pids = []
        sys.stdout.flush()
        sys.stderr.flush()
        for rank in range(max(place.world_size for place in places)):
            pid = os.fork()
            if pid == 0:
                _become(places, rank, disturbance, gpus)
            pids.append(pid)
        statuses, hung = _wait(pids, limit)
        jobs = []
        for place in places:
            jobs.append(_job(place, statuses, hung))
            if jobs[-1].failed or jobs[-1].hung:
                break
        return jobs


@dataclass(frozen=True)
class Place:
    """A script that is run, and where.

    Args:
        text: the script.
        world_size: how many processes.
        folder: where they run.
        beside: where they meet and leave what they said.
        launched: whether they are told of ranks.
    """

    text: str
    world_size: int
    folder: Path
    beside: Path
    launched: bool


def _job(place: Place, statuses: Sequence[int | None], hung: bool) -> Job:
    ranks = tuple(_left(place.beside, rank, statuses[rank]) for rank in range(place.world_size))
    files = {
        str(path.relative_to(place.folder)): path.read_bytes()
        for path in sorted(place.folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }
    return Job(ranks, files, hung and any(rank.status is None for rank in ranks))


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
    record: dict[str, Any] = {"status": status, "steps": 0, "parameters": []}
    with contextlib.suppress(OSError, EOFError, pickle.UnpicklingError):
        record = pickle.loads((beside / f"record{rank}").read_bytes())
    said = [beside / f"{name}{rank}" for name in ("out", "err")]
    output, errors = (path.read_text("utf-8", "replace") if path.exists() else "" for path in said)
    return Rank(record["status"], output, errors, record["steps"], record["parameters"])


def _become(
    places: Sequence[Place], rank: int, disturbance: float, gpus: Gpus | None = None
) -> None:
    """Be a rank: run the scripts that have one of this number, and leave."""
    status = 1
    try:
        # What this process would do at its end is not the child's to do.
        atexit._clear()
        _compute_alone()
        with contextlib.suppress(AttributeError, OSError):
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)
        if gpus is not None:
            _take(gpus, max(place.world_size for place in places))
        agree_on_orders()
        offer_progress_bars()
        begin = beginning()
        for place in places:
            if rank < place.world_size:
                begin()
                status = _run_here(place, rank, disturbance)
                if status:
                    break
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


def _compute_alone() -> None:
    """Compute with one thread: those that this process may have had do not come along."""
    torch: Any = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)


def _take(gpus: Gpus, processes: int) -> None:
    """See GPUs from here on: pretended ones, or those of the machine, which processes share."""
    if gpus.count:
        pretend_cuda.install(gpus.count, gpus.noise)
        return
    compute_alike()
    share(processes)


def _run_here(place: Place, rank: int, disturbance: float) -> int:
    for descriptor, name in ((1, "out"), (2, "err")):
        path = place.beside / f"{name}{rank}"
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(opened, descriptor)
        os.close(opened)
    sys.stdout = os.fdopen(1, "w", buffering=1, closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)
    os.chdir(place.folder)
    if place.launched:
        os.environ.update(
            RANK=str(rank),
            LOCAL_RANK=str(rank),
            WORLD_SIZE=str(place.world_size),
            MASTER_ADDR="127.0.0.1",
            MASTER_PORT="29500",
            GLOO_SOCKET_IFNAME="lo",
        )
        meet_at(place.beside / "store")
    return _execute(place.text, place.beside / f"record{rank}", disturbance)


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
    atexit._clear()
    sys.stdout.flush()
    sys.stderr.flush()
    record.write_bytes(pickle.dumps({"status": status, **left()}))
    return status
