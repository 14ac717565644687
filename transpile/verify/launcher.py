"""Starts the process that forks the ranks, and talks to it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from transpile.verify.evidence import Ending, RunEvidence
from transpile.verify.evidence_reading import read_rank
from transpile.verify.places import innermost_place

_ROOT = Path(__file__).resolve().parents[2]

# This package is reachable only while it is being imported: the scripts must not find its
# neighbours on their path.
_BOOTSTRAP = """
import sys
path = list(sys.path)
sys.path.insert(0, {root!r})
from transpile.verify.worker.server import main
sys.path[:] = [entry for entry in path if entry]
main({preload!r})
"""

_LAUNCHERS = ("OMPI_", "PMI_", "PMIX_", "SLURM_", "TORCHELASTIC_", "MPI_")
_RANK_VARIABLES = frozenset(
    {
        "RANK",
        "WORLD_SIZE",
        "LOCAL_RANK",
        "LOCAL_WORLD_SIZE",
        "GROUP_RANK",
        "GROUP_WORLD_SIZE",
        "ROLE_RANK",
        "ROLE_WORLD_SIZE",
        "NODE_RANK",
        "MASTER_ADDR",
        "MASTER_PORT",
        "EXPECTED_WORLD_SIZE",
    }
)
_ADDRESS_IN_USE = ("EADDRINUSE", "address already in use", "Address already in use")
_ATTEMPTS = 3


class LaunchError(Exception):
    """The process that runs the scripts could not be started, or died."""


class Launcher(AbstractContextManager["Launcher"]):
    """Runs scripts as one or several processes; one start of the framework serves many runs.

    Args:
        python: interpreter that has the framework; this process's own where None.
        site: folder that comes first on the interpreter's path.
        preload: modules to import before the first run.
        cuda: leave CUDA devices visible, and let them compute alike in every run.
        share_gpus: let processes that are more than the GPUs share these, over Gloo in place of
            NCCL, which refuses that.
        pretend_cuda: let the scripts see so many GPUs that are not there; 0 for none.
        noise: whether their results differ from process to process in the last digits.

    Raises:
        LaunchError: on entering, where the interpreter or its torch cannot be used.
    """

    def __init__(
        self,
        *,
        python: str | None = None,
        site: Path | None = None,
        preload: Sequence[str] = (),
        cuda: bool = False,
        share_gpus: bool = False,
        pretend_cuda: int = 0,
        noise: bool = False,
    ) -> None:
        self._python = python or sys.executable
        self._site = site
        self._preload = tuple(preload)
        self._cuda = cuda
        self._share_gpus = share_gpus
        self._pretend_cuda = pretend_cuda
        self._noise = noise
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None

    def __enter__(self) -> Launcher:
        if not hasattr(os, "fork"):
            raise LaunchError("running several ranks needs a system that can fork processes")
        self._log = tempfile.TemporaryFile()
        bootstrap = _BOOTSTRAP.format(root=str(_ROOT), preload=self._preload)
        self._process = subprocess.Popen(
            [self._python, "-c", bootstrap],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=self._environment(),
        )
        try:
            self._receive()
        except LaunchError:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process and whatever still runs below it."""
        process, self._process = self._process, None
        if process is not None:
            assert process.stdin is not None and process.stdout is not None
            process.stdin.close()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            process.stdout.close()
        if self._log is not None:
            self._log.close()
            self._log = None

    def run(
        self,
        script: Path,
        arguments: Sequence[str],
        *,
        world_size: int,
        working_directory: Path,
        evidence: Path,
        folders: Mapping[Path, str],
        timeout_seconds: float,
        double: bool = False,
        seed: int = 0,
        steps: int = 0,
        launched: bool = False,
        packages: int = 0,
    ) -> RunEvidence:
        """Run a script and read what its ranks left.

        Args:
            script: the script.
            arguments: its command line arguments.
            world_size: number of ranks; 0 and 1 start one process that gets no rank.
            working_directory: where it runs.
            evidence: empty folder for the evidence, outside the job's folders.
            folders: the job's folders whose changes are recorded, with the prefixes that name
                paths below them.
            timeout_seconds: when ranks that are still running are killed.
            double: make float64 the default type of new tensors.
            seed: seed of generators that the script does not seed; ranks add their own number.
            steps: after how many optimizer steps the script is ended; 0 for none.
            launched: let a world size of 1 be a job of one process, which has a rank.
            packages: how many packages hold the script, where it runs as a module of them, as by
                ``python -m``.

        Raises:
            LaunchError: the process that runs the ranks died.
        """
        for attempt in range(_ATTEMPTS):
            directories = [
                evidence / f"attempt-{attempt}" / str(rank) for rank in range(max(world_size, 1))
            ]
            for directory in directories:
                directory.mkdir(parents=True)
            answer = self._request(
                {
                    "script": str(script.resolve()),
                    "arguments": list(arguments),
                    "environments": _rank_environments(world_size, launched),
                    "working_directory": str(working_directory),
                    "directories": [str(directory) for directory in directories],
                    "folders": {str(folder): prefix for folder, prefix in folders.items()},
                    "timeout": timeout_seconds,
                    "double": double,
                    "seed": seed,
                    "pretend_cuda": self._pretend_cuda,
                    "noise": self._noise,
                    "cuda": self._cuda,
                    "share_gpus": self._share_gpus,
                    "steps": steps,
                    "packages": packages,
                }
            )
            ranks = tuple(
                read_rank(
                    directory,
                    rank,
                    ending=Ending(entry["ending"]),
                    exit_status=entry["exit_status"],
                    place=innermost_place(directory / "stack", script),
                )
                for rank, (directory, entry) in enumerate(
                    zip(directories, answer["ranks"], strict=True)
                )
            )
            run = RunEvidence(world_size, ranks, seconds=answer["seconds"])
            # The free port may be taken between its choice and its use.
            if run.finished or not any(
                message in rank.errors for rank in ranks for message in _ADDRESS_IN_USE
            ):
                break
        return run

    def _request(self, request: Mapping[str, Any]) -> Any:
        process = self._process
        if process is None:
            raise LaunchError("the launcher is closed")
        assert process.stdin is not None
        try:
            process.stdin.write((json.dumps(request) + "\n").encode())
            process.stdin.flush()
        except BrokenPipeError as error:
            raise LaunchError(self._last_words()) from error
        return self._receive()

    def _receive(self) -> Any:
        assert self._process is not None and self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise LaunchError(self._last_words())
        return json.loads(line)

    def _last_words(self) -> str:
        assert self._log is not None
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        reason = lines[-1] if lines else "it said nothing"
        return f"{self._python} cannot run the scripts: {reason}"

    def _environment(self) -> dict[str, str]:
        environment = {
            name: value
            for name, value in os.environ.items()
            if name not in _RANK_VARIABLES and not name.startswith(_LAUNCHERS)
        }
        for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
            environment[name] = "1"
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
        environment["PYTHONIOENCODING"] = "utf-8"
        environment.setdefault("MPLBACKEND", "Agg")
        # All ranks are on this machine; its name need not resolve to an address of it.
        loopback = _loopback()
        if loopback is not None:
            environment.setdefault("GLOO_SOCKET_IFNAME", loopback)
        if self._pretend_cuda:
            environment.pop("CUDA_VISIBLE_DEVICES", None)
        elif self._cuda:
            environment.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
            # Asked otherwise, a GPU is of no use to the processes that are forked afterwards.
            environment["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"
        else:
            environment["CUDA_VISIBLE_DEVICES"] = ""
        if self._site is not None:
            before = environment.get("PYTHONPATH")
            parts = [str(self._site.resolve()), *([before] if before else [])]
            environment["PYTHONPATH"] = os.pathsep.join(parts)
        return environment


def _rank_environments(world_size: int, launched: bool) -> list[dict[str, str]]:
    if world_size < 1 or (world_size == 1 and not launched):
        return [{}]
    port = str(_free_port())
    return [
        {
            "RANK": str(rank),
            "WORLD_SIZE": str(world_size),
            "LOCAL_RANK": str(rank),
            "LOCAL_WORLD_SIZE": str(world_size),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": port,
        }
        for rank in range(world_size)
    ]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _loopback() -> str | None:
    names = {name for _, name in socket.if_nameindex()}
    return next((name for name in ("lo", "lo0") if name in names), None)
