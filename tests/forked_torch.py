"""Starts scripts in processes that have imported torch already, by forks of one that waits.

    python tests/forked_torch.py DESCRIPTOR

A new interpreter takes seconds to import torch, a fork of one that has it hundredths of one. What
a script meets is as in a new interpreter: its folder and ``PYTHONPATH`` come first among the
places of modules, its variables and streams are its own, and it comes to Python's natural end. Each
:class:`Waiting` has hashes of its own, as processes that are started anew have.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import random
import signal
import socket
import subprocess
import sys
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_LONGEST = 1 << 20


class Waiting:
    """A process with torch, which waits to be forked."""

    def __init__(self) -> None:
        own, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        environment.pop("PYTHONPATH", None)
        self._socket = own
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(other.fileno())],
            env=environment,
            pass_fds=[other.fileno()],
            stdin=subprocess.DEVNULL,
            cwd="/",
        )
        other.close()

    def start(self, script: Path, environment: Mapping[str, str], out: int, errors: int) -> Forked:
        """Start ``python script`` in the folder of a script.

        Args:
            script: the script.
            environment: all its variables.
            out: the descriptor that takes its standard output.
            errors: the one for its errors.
        """
        request = {
            "folder": str(script.parent),
            "name": script.name,
            "environment": dict(environment),
        }
        return Forked(self, self._ask(request, out, errors)["pid"])

    def status(self, pid: int) -> int | None:
        """The exit status of a process that was started here; None while it runs."""
        status: int | None = self._ask({"status": pid})["status"]
        return status

    def _ask(self, request: dict[str, Any], *descriptors: int) -> dict[str, Any]:
        socket.send_fds(self._socket, [json.dumps(request).encode()], list(descriptors))
        answer: dict[str, Any] = json.loads(self._socket.recv(_LONGEST))
        return answer

    def close(self) -> None:
        """End it, and with it all that it has started."""
        self._socket.close()
        self._process.wait()


class Forked:
    """A script that was started; behaves as far as needed as :class:`subprocess.Popen` does."""

    def __init__(self, parent: Waiting, pid: int) -> None:
        self._parent = parent
        self._pid = pid
        self._status: int | None = None

    def poll(self) -> int | None:
        """Its exit status; None while it runs."""
        if self._status is None:
            self._status = self._parent.status(self._pid)
        return self._status

    def kill(self) -> None:
        """End it at once, if it still runs."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)


def serve(connection: socket.socket) -> dict[str, Any] | None:
    """Answer until nobody asks any more (None), or this is the fork that runs a script."""
    ended: dict[int, int] = {}
    while True:
        data, descriptors, _, _ = socket.recv_fds(connection, _LONGEST, 2)
        if not data:
            return None
        request: dict[str, Any] = json.loads(data)
        if "status" in request:
            pid = request["status"]
            if pid not in ended:
                found, status = os.waitpid(pid, os.WNOHANG)
                if found:
                    ended[pid] = os.waitstatus_to_exitcode(status)
            answer = {"status": ended.get(pid)}
        else:
            pid = os.fork()
            if not pid:
                connection.close()
                for number, descriptor in enumerate(descriptors, 1):
                    os.dup2(descriptor, number)
                    os.close(descriptor)
                return request
            for descriptor in descriptors:
                os.close(descriptor)
            answer = {"pid": pid}
        connection.send(json.dumps(answer).encode())


def become(request: Mapping[str, Any]) -> types.ModuleType:
    """Make this process one that was started for a script; returns the script's module."""
    with contextlib.suppress(AttributeError, OSError):
        # It ends when the process does that waits for the next.
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    places = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:1] = [request["folder"], *filter(None, places)]
    sys.argv = [request["name"]]
    random.seed()
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()
    script = types.ModuleType("__main__")
    script.__file__ = request["name"]
    script.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = script
    return script


def run(request: Mapping[str, Any]) -> None:
    """Run the script of a request."""
    script = become(request)
    code = compile(Path(request["name"]).read_bytes(), request["name"], "exec", dont_inherit=True)
    try:
        exec(code, script.__dict__)
    except SystemExit:
        raise
    except BaseException as error:
        trace = error.__traceback__
        sys.excepthook(type(error), error, trace.tb_next if trace is not None else None)
        raise SystemExit(1) from None


if __name__ == "__main__":
    import torch  # noqa: F401

    asked = serve(socket.socket(fileno=int(sys.argv[1])))
    if asked is not None:
        run(asked)
