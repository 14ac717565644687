"""Running a script with MXNet: alone, or as a scheduler, servers and workers on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ports import free_port

OBSERVER = Path(__file__).resolve().parent / "observed_mxnet.py"


@dataclass(frozen=True)
class Outcome:
    """What became of one process.

    Args:
        role: scheduler, server or worker.
        status: its exit status; None where it had to be stopped.
        output: what it wrote to standard output.
        errors: what it wrote to standard error.
    """

    role: str
    status: int | None
    output: str
    errors: str


@dataclass(frozen=True)
class Job:
    """What became of a job.

    Args:
        outcomes: every process.
        workers: what each worker recorded, in the order of their ranks.
        folder: where it ran.
    """

    outcomes: tuple[Outcome, ...]
    workers: tuple[dict[str, Any], ...]
    folder: Path

    @property
    def trouble(self) -> str:
        """What went wrong, for messages; empty where every role ended well."""
        return "\n".join(
            f"{each.role}: {each.status}\n{each.output[-1500:]}\n{each.errors[-3000:]}"
            for each in self.outcomes
            if each.status != 0
        )

    @property
    def output(self) -> str:
        """What all workers together wrote to standard output."""
        return "".join(each.output for each in self.outcomes if each.role == "worker")


def run_job(
    interpreter: Path,
    script: Path,
    folder: Path,
    arguments: tuple[str, ...] = (),
    workers: int = 0,
    servers: int = 1,
    timeout_seconds: float = 90,
) -> Job:
    """Run a script in a folder, without a launcher where there are no workers."""
    evidence = folder / "evidence"
    evidence.mkdir(parents=True)
    work = folder / "work"
    work.mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DMLC_")}
    base = {
        **kept,
        "MXNET_EVIDENCE": str(evidence),
        "OMP_NUM_THREADS": "1",
        "PYTHONHASHSEED": "random",
    }
    roles = ["scheduler"] + ["server"] * servers + ["worker"] * workers if workers else ["worker"]
    if workers:
        base |= {
            "DMLC_PS_ROOT_URI": "127.0.0.1",
            "DMLC_PS_ROOT_PORT": str(free_port()),
            "DMLC_NODE_HOST": "127.0.0.1",
            "DMLC_NUM_WORKER": str(workers),
            "DMLC_NUM_SERVER": str(servers),
        }
    running = [
        subprocess.Popen(
            [str(interpreter), str(OBSERVER), str(script), *arguments],
            cwd=work,
            env={**base, "DMLC_ROLE": role} if workers else base,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
        )
        for role in roles
    ]
    end = time.monotonic() + timeout_seconds
    outcomes = []
    for role, process in reversed(list(zip(roles, running, strict=True))):
        try:
            output, errors = process.communicate(timeout=max(1.0, end - time.monotonic()))
            outcomes.append(Outcome(role, process.returncode, output, errors))
        except subprocess.TimeoutExpired:
            process.kill()
            output, errors = process.communicate()
            outcomes.append(Outcome(role, None, output, errors))
    found = sorted(evidence.glob("worker-*.json"))
    recorded = tuple(json.loads(path.read_text("utf-8")) for path in found)
    return Job(tuple(outcomes), recorded, work)


def files_of(folder: Path) -> set[str]:
    """The files below a folder, by their paths in it."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def difference(first: dict[str, Any], second: dict[str, Any]) -> float:
    """The largest difference of two sets of parameters, relative to the largest parameter."""
    assert first["parameters"].keys() == second["parameters"].keys()
    pairs = [
        (a, b)
        for name, values in first["parameters"].items()
        for a, b in zip(values, second["parameters"][name], strict=True)
    ]
    largest = max(float(abs(a)) for a, _ in pairs)
    return max(float(abs(a - b)) for a, b in pairs) / largest
