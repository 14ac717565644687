"""Outputs stop where what they rest on does not hold, instead of training something else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from cases import FIXTURES
from singa_jobs import run_job

from transpile import Outcome, convert

SCRIPT = FIXTURES / "singa" / "mlp_graph" / "train.py"


def test_batches_of_a_library_that_draws_by_itself_stop_the_job(tmp_path: Path) -> None:
    text = SCRIPT.read_text("utf-8").replace("np.random.shuffle(order)", "draw(order)")
    result = convert(text.replace("import csv\n", "import csv\n\nfrom elsewhere import draw\n"))
    assert result.outcome is Outcome.CONVERTED
    script = tmp_path / "train_dist.py"
    script.write_text(result.text, "utf-8")
    (tmp_path / "elsewhere.py").write_text(
        "import numpy as np\n\n\ndef draw(order):\n    np.random.RandomState().shuffle(order)\n",
        "utf-8",
    )
    job = run_job(script, tmp_path / "job", (), 2)
    assert all(job.statuses)
    said = "the processes draw other batches: seed whatever is random here"
    assert all(errors.strip().endswith(said) for errors in job.errors)


def test_processes_of_the_script_itself_are_not_started_by_mpi(tmp_path: Path) -> None:
    script = FIXTURES / "singa" / "multiprocess" / "train_dist.py"
    job = run_job(script, tmp_path, (), 2)
    assert all(job.statuses)
    said = "OMPI_COMM_WORLD_SIZE is set: start this script without mpiexec"
    assert all(errors.strip().endswith(said) for errors in job.errors)


def test_no_launcher_starts_a_script_that_starts_its_processes(tmp_path: Path) -> None:
    words = ("--singa-start", "multiprocess", "--launch", "mpi")
    run = subprocess.run(
        [sys.executable, "-m", "transpile", str(SCRIPT), "-o", "out.py", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 2
    assert "mpi starts processes, and so does a script of --singa-start" in run.stderr
    assert not list(tmp_path.iterdir())


def test_a_script_that_starts_its_processes_counts_the_gpus(tmp_path: Path) -> None:
    script = FIXTURES / "singa" / "multiprocess" / "train_dist.py"
    job = run_job(script, tmp_path, (), 1, SINGA_STAND_IN_GPUS="3")
    assert not any(job.statuses), job.errors
    assert len(job.parameters) == 3
