"""Running a script with the stand-in for SINGA: alone, or as the processes of a job."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Job:
    """What became of a job.

    Args:
        outputs: what each process that was started wrote to standard output.
        errors: what they wrote to standard error.
        statuses: their exit statuses.
        parameters: what each rank ended with, in the order of the ranks.
        files: what lies in its folder in the end, by path.
    """

    outputs: tuple[str, ...]
    errors: tuple[str, ...]
    statuses: tuple[int, ...]
    parameters: tuple[list[Any], ...]
    files: dict[str, bytes]


def run_job(
    script: Path, folder: Path, arguments: tuple[str, ...] = (), processes: int = 1, **more: str
) -> Job:
    """Run a script in a folder of its own, as processes of MPI where there are several."""
    evidence, work = folder / "evidence", folder / "work"
    evidence.mkdir(parents=True)
    work.mkdir()
    with tempfile.TemporaryDirectory() as short:
        base = {
            **{key: value for key, value in os.environ.items() if "WORLD" not in key},
            "PYTHONPATH": str(HERE / "stand_in"),
            "PYTHONHASHSEED": "random",
            "OMP_NUM_THREADS": "1",
            "SINGA_EVIDENCE": str(evidence),
            "SINGA_STAND_IN_ADDRESS": f"{short}/nccl",
            "SINGA_STAND_IN_CLOCK": "11",
            **more,
        }
        ranks = [
            {"OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": str(processes)}
            for rank in range(processes if processes > 1 else 0)
        ]
        running = [
            subprocess.Popen(
                [sys.executable, str(HERE / "observed_singa.py"), str(script), *arguments],
                cwd=work,
                env={**base, **rank},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                stdin=subprocess.DEVNULL,
                text=True,
            )
            for rank in (ranks or [{}])
        ]
        said = []
        try:
            said = [process.communicate(timeout=60) for process in running]
        finally:
            for process in running:
                process.kill()
    found = sorted(evidence.glob("rank-*.npz"))
    parameters = []
    for path in found:
        arrays = np.load(path)
        parameters.append([arrays[name] for name in arrays.files])
    return Job(
        tuple(output for output, _ in said),
        tuple(errors for _, errors in said),
        tuple(process.returncode for process in running),
        tuple(parameters),
        {str(one.relative_to(work)): one.read_bytes() for one in work.rglob("*") if one.is_file()},
    )


def difference(first: list[Any], second: list[Any]) -> float:
    """The largest difference of two sets of parameters, relative to the largest parameter."""
    assert first and [one.shape for one in first] == [one.shape for one in second]
    largest = max(float(np.abs(one).max()) for one in first)
    pairs = zip(first, second, strict=True)
    return max(float(np.abs(one - other).max()) for one, other in pairs) / largest
