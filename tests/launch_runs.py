"""Running launch scripts where ``python3`` is the interpreter of a framework."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ports import free_port
from slurm_cluster import NoSlurm, SlurmCluster

FIXTURES = Path(__file__).parents[1] / "fixtures"
#: What a script gets that `launched` launches, with one more word ``last`` and a line's end.
ARGUMENTS = ["a b", "it's", "$(touch broken)", "last\n"]


def launched(command: Callable[..., Any], text: str, *words: str) -> None:
    Path("train_dist.py").write_text(text)
    arguments = ("--", "a b", "it's", "$(touch broken)")
    made = command("launch", "train_dist.py", "--env", "A=$x", *words, *arguments)
    assert made.status == 0, made.errors


def converted(command: Callable[..., Any], fixture: str, *words: str) -> None:
    """Convert a fixture, and have its launch files written with it."""
    shutil.copy(FIXTURES / fixture / "train.py", "train.py")
    made = command("train.py", "-o", "train_dist.py", *words)
    assert made.status in (0, 1), made.errors


def run(
    script: str, interpreter: Path, *words: str, limit: float = 200
) -> subprocess.CompletedProcess[str]:
    """Run a launch script."""
    path = f"{python_of(interpreter)}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [f"./{script}", *words],
        env={**os.environ, "PATH": path, "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=limit,
    )


def python_of(interpreter: Path) -> Path:
    """A folder where ``python3`` is that interpreter."""
    programs = Path("programs")
    programs.mkdir(exist_ok=True)
    found = programs / "python3"
    if not found.exists():
        # A link would not find the packages of its environment.
        found.write_text(f'#!/bin/sh\nexec {interpreter} "$@"\n')
        found.chmod(0o755)
    return programs.resolve()


def run_in_slurm(interpreter: Path, folder: Path, *words: str) -> str:
    """Run a batch script on two nodes of a cluster; return what it left in its log."""
    try:
        cluster = SlurmCluster(folder / "cluster")
    except NoSlurm as error:
        pytest.skip(str(error))
    try:
        state = cluster.run_job(
            *("train_dist.sbatch", *words),
            PATH=f"{python_of(interpreter)}{os.pathsep}{cluster.environment['PATH']}",
            CUDA_VISIBLE_DEVICES="",
            OMP_NUM_THREADS="1",
            LOG_DIR="logs",
            # Both nodes are this machine, which does not know itself by their names.
            MASTER_ADDR="127.0.0.1",
            MASTER_PORT=str(free_port()),
        )
    finally:
        cluster.stop()
    (log,) = Path().glob("train_dist-*.log")
    logs = {path.name: path.read_text() for path in sorted(Path("logs").iterdir())}
    assert state == "COMPLETED", (log.read_text(), logs)
    return log.read_text()
