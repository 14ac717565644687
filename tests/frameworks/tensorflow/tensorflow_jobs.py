"""Running a script with TensorFlow: alone, or as several workers on this machine."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from ports import free_ports

OBSERVER = Path(__file__).resolve().parent / "observed_tensorflow.py"
#: Two loads of TensorFlow on a busy machine take most of it.
SECONDS = 400
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


@dataclass(frozen=True)
class Job:
    """What became of a job.

    Args:
        outputs: what each worker wrote to standard output.
        trained: what each worker has trained, one list for each variable.
        files: the files in the folder of the workers, by their paths in it.
        trouble: what went wrong; empty where every worker ended well.
    """

    outputs: tuple[str, ...]
    trained: tuple[list[list[float]], ...]
    files: set[str]
    trouble: str


@dataclass(frozen=True)
class Running:
    """A job that runs."""

    processes: tuple[subprocess.Popen[str], ...]
    folder: Path

    def end(self) -> Job:
        """Wait for the workers."""
        limit = time.monotonic() + SECONDS
        said = []
        try:
            for process in self.processes:
                left = max(1.0, limit - time.monotonic())
                said.append(process.communicate(timeout=left))
        finally:
            for process in self.processes:
                if process.poll() is None:
                    process.kill()
        found = sorted((self.folder / "evidence").glob("worker-*.json"))
        return Job(
            tuple(output for output, _ in said),
            tuple(json.loads(path.read_text("utf-8")) for path in found),
            files_of(self.folder / "work"),
            "\n".join(
                f"{process.returncode}\n{errors[-4000:]}"
                for process, (_, errors) in zip(self.processes, said, strict=True)
                if process.returncode != 0
            ),
        )


def start(
    interpreter: Path,
    script: Path,
    folder: Path,
    arguments: tuple[str, ...] = (),
    workers: int = 1,
    variables: dict[str, str] | None = None,
) -> Running:
    """Start a script, all workers in one folder; one worker without TF_CONFIG."""
    (folder / "evidence").mkdir(parents=True)
    (folder / "work").mkdir()
    addresses = [f"127.0.0.1:{port}" for port in free_ports(workers)]
    processes = []
    for index in range(workers):
        environment = {
            **{name: value for name, value in os.environ.items() if name != "TF_CONFIG"},
            "TENSORFLOW_EVIDENCE": str(folder / "evidence"),
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "TF_ENABLE_ONEDNN_OPTS": "0",
            "OMP_NUM_THREADS": "1",
            "KERAS_HOME": str(folder / "evidence"),
            **(variables or {}),
        }
        if workers > 1:
            config = {
                "cluster": {"worker": addresses},
                "task": {"type": "worker", "index": index},
            }
            environment["TF_CONFIG"] = json.dumps(config)
        processes.append(
            subprocess.Popen(
                [str(interpreter), str(OBSERVER), str(script), *arguments],
                cwd=folder / "work",
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                stdin=subprocess.DEVNULL,
                text=True,
            )
        )
    return Running(tuple(processes), folder)


def files_of(folder: Path) -> set[str]:
    """The files below a folder, by their paths in it."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def difference(first: list[list[float]], second: list[list[float]]) -> float:
    """The largest difference of two sets of variables, relative to the largest number."""
    pairs = [
        (a, b)
        for one, other in zip(first, second, strict=True)
        for a, b in zip(one, other, strict=True)
    ]
    largest = max(abs(a) for a, _ in pairs)
    return max(abs(a - b) for a, b in pairs) / largest


def words_and_numbers(text: str) -> tuple[list[str], list[float]]:
    """The text without its numbers, line by line, and the numbers."""
    lines = NUMBER.sub("#", text).replace("#ms/step", "#s/step").splitlines()
    return lines, [float(found) for found in NUMBER.findall(text)]
