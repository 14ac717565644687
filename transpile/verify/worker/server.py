"""The process that imports the framework once and forks the ranks of every run.

A fresh interpreter that imports torch takes seconds, a fork a tenth of one. The price is a rule:
nothing here may compute with torch before a fork, because the threads of its pools do not survive
one and the child would wait for them for ever. For the same reason the process is started with
one thread per pool.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import json
import os
import select
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from transpile.verify.worker.rank import STACK_SIGNAL, RankTask, execute, task_of

_PAUSE = 0.01
_GRACE_AFTER_FAILURE = 5.0
_TIME_FOR_STACKS = 0.5


def main(preload: Sequence[str]) -> None:
    """Serve requests from standard input until it is closed.

    Args:
        preload: modules to import before the first fork.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in ("torch", "torch.distributed", "torch.nn.parallel", "torch.utils.data"):
        importlib.import_module(name)
    # The compiler is imported by the first optimizer that is made, which would take every rank
    # a second; older versions have none.
    for name in ("torch._dynamo", *preload):
        try:
            importlib.import_module(name)
        except Exception:
            # The script that asks for it will say so itself.
            continue
    # A forked rank would otherwise copy every page of what was imported, by visiting it in its
    # last garbage collection.
    gc.collect()
    gc.freeze()
    _answer({"ready": True})
    task = _serve()
    if task is not None:
        # A forked rank leaves through the whole interpreter's end, as a script does.
        sys.exit(execute(task))


def _serve() -> RankTask | None:
    for line in _lines():
        request = json.loads(line)
        task = _run(request)
        if task is not None:
            return task
    return None


def _lines() -> Iterator[bytes]:
    # Not through `sys.stdin`, whose buffer the ranks would inherit.
    pending = b""
    while True:
        line, newline, rest = pending.partition(b"\n")
        if newline:
            pending = rest
            yield line
            continue
        data = os.read(0, 65536)
        if not data:
            return
        pending += data


def _answer(answer: Mapping[str, Any]) -> None:
    data = (json.dumps(answer) + "\n").encode()
    while data:
        data = data[os.write(1, data) :]


def _run(request: Mapping[str, Any]) -> RankTask | None:
    """Run one request; in a forked rank, give its task instead."""
    directories = [os.path.realpath(folder) for folder in _folders(request["folders"])]
    ranks: dict[int, int] = {}
    started = time.monotonic()
    parent = os.getpid()
    for rank in range(len(request["directories"])):
        pid = os.fork()
        if pid == 0:
            # Its own session, so that it can be killed together with what it starts.
            os.setsid()
            signal.signal(signal.SIGINT, signal.default_int_handler)
            _die_with(parent)
            return task_of(request, rank, directories)
        ranks[pid] = rank
    statuses, killed, reason = _wait(ranks, started + request["timeout"])
    answer = {
        "seconds": time.monotonic() - started,
        "ranks": [
            {
                "exit_status": None if rank in killed else statuses[rank],
                "ending": reason if rank in killed else "exited",
            }
            for rank in range(len(ranks))
        ],
    }
    _answer(answer)
    return None


def _folders(roots: Mapping[str, str]) -> Iterator[str]:
    for root in roots:
        for folder, _, _ in os.walk(root):
            yield folder


def _wait(ranks: Mapping[int, int], deadline: float) -> tuple[dict[int, int], set[int], str]:
    """Wait for all ranks; gives their statuses, those that were killed, and why."""
    living = dict(ranks)
    statuses: dict[int, int] = {}
    reason = "hung"
    while living and time.monotonic() < deadline:
        for pid in list(living):
            status = _status(pid)
            if status is None:
                continue
            statuses[living.pop(pid)] = status
            if status != 0 and living and reason == "hung":
                # The others mostly fail at once, but one that does not would wait for ever.
                reason = "stopped"
                deadline = min(deadline, time.monotonic() + _GRACE_AFTER_FAILURE)
        if living and _is_abandoned():
            for pid in living:
                _reap(pid)
            sys.exit(1)
    killed = set(living.values())
    if living:
        for pid in living:
            os.kill(pid, STACK_SIGNAL)
        time.sleep(_TIME_FOR_STACKS)
        for pid, rank in living.items():
            statuses[rank] = _reap(pid)
    return statuses, killed, reason


def _status(pid: int) -> int | None:
    """Exit status of a rank, whose group is killed then; None while it runs."""
    if hasattr(os, "waitid"):
        # Not reaped yet: while it is a zombie its process group's number cannot be reused.
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            return None
        return _reap(pid)
    ended, status = os.waitpid(pid, os.WNOHANG)
    if not ended:
        return None
    _kill_group(pid)
    return os.waitstatus_to_exitcode(status)


def _reap(pid: int) -> int:
    _kill_group(pid)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _kill_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        # It had no time yet to make its group, or the group is gone.
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _is_abandoned() -> bool:
    """Pause; whether the process that asked for the run has gone meanwhile."""
    readable, _, _ = select.select([0], [], [], _PAUSE)
    return bool(readable) and os.read(0, 1) == b""


def _die_with(parent: int) -> None:
    """On Linux, be killed when this process's parent is killed."""
    try:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    except (AttributeError, OSError):
        return
    if os.getppid() != parent:
        os._exit(1)
