"""Runs scripts with Paddle, as one process and as several, and tells what they did."""

from __future__ import annotations

import os
import pickle
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

WATCHER = Path(__file__).resolve().parent / "watcher.py"
MOST_SECONDS = 240


@dataclass
class Run:
    """What a run did.

    Args:
        outputs: the standard output of each process.
        folder: where it ran.
        seen: what was seen in each process.
    """

    outputs: list[str]
    folder: Path
    seen: list[dict[str, Any]] = field(default_factory=list)

    @property
    def parameters(self) -> list[Any]:
        """The trained parameters of the process with rank 0."""
        found: list[Any] = self.seen[0]["parameters"]
        return found

    def drawn(self, rank: int, loader: int = 0) -> list[list[list[int]]]:
        """The indices that a process drew from a loader: pass, batch, sample."""
        found: list[list[list[int]]] = self.seen[rank]["drawn"][loader]
        return found


def run(
    interpreter: Path, script: Path, folder: Path, arguments: tuple[str, ...], processes: int
) -> Run:
    """Run a script in a folder of its own; more than one process by Paddle's launcher.

    Raises:
        AssertionError: it failed.
    """
    folder.mkdir(parents=True)
    watch = folder / "watch"
    watch.mkdir()
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("PADDLE_")
    }
    environment |= {"PYTHONUNBUFFERED": "1", "OMP_NUM_THREADS": "1"}
    words = [str(WATCHER), str(watch), str(script), *arguments]
    command = [str(interpreter), *words]
    if processes > 1:
        launcher = ["-m", "paddle.distributed.launch", "--nproc_per_node", str(processes)]
        command = [str(interpreter), *launcher, "--log_dir", "log", *words]
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=MOST_SECONDS,
        stdin=subprocess.DEVNULL,
    )
    outputs = [done.stdout]
    if processes > 1:
        logs = [folder / "log" / f"workerlog.{rank}" for rank in range(processes)]
        outputs = [log.read_text("utf-8") for log in logs if log.is_file()]
    assert done.returncode == 0, "\n".join([*outputs, done.stdout, done.stderr])[-6000:]
    found = []
    for rank in range(processes):
        with open(watch / f"{rank}.pickle", "rb") as stream:
            found.append(pickle.load(stream))
    return Run(outputs, folder, found)


def lines(output: str) -> list[str]:
    """The lines that a script printed itself."""
    foreign = (
        "I1",
        "I0",
        "W0",
        "W1",
        "LAUNCH",
        "====",
        "FLAGS",
        "/",
        "  warnings",
        "  return",
        "save checkpoint",
        "[20",
    )
    return [line for line in output.splitlines() if line and not line.startswith(foreign)]
