"""Conversions with other options than the default, and launches that went wrong."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from cases import cases
from mxnet_jobs import Job, run_job

from transpile import Options, convert

SCRIPTS = {case.folder.name: case.script for case in cases("mxnet")}


def converted(name: str, folder: Path, options: Options) -> Path:
    """A fixture's script, converted with some options."""
    result = convert(SCRIPTS[name].read_bytes(), options, path="train.py")
    path = folder / "train_dist.py"
    path.write_bytes(result.data)
    return path


def trained(job: Job) -> list[int]:
    """How often each worker changed the parameters."""
    assert not job.trouble, job.trouble
    return [worker["steps"] for worker in job.workers]


@pytest.mark.parametrize("name", ["gluon_mlp", "module_fit"])
@pytest.mark.parametrize(
    "options",
    [Options(kvstore="dist_async"), Options(compression="2bit"), Options(batch_size="per-device")],
    ids=["async", "2bit", "per-device"],
)
def test_workers_train_with_other_options(
    name: str, options: Options, interpreter_of: Callable[[str], Path], tmp_path: Path
) -> None:
    script = converted(name, tmp_path, options)
    arguments = ("--epochs", "1") if name == "gluon_mlp" else ()
    job = run_job(interpreter_of("mxnet"), script, tmp_path / "job", arguments, workers=2)
    first, second = trained(job)
    assert first == second > 0
    drawn = [set(worker["samples"]) for worker in job.workers]
    assert not drawn[0] & drawn[1]


def test_a_batch_that_workers_cannot_share_stops_them_at_the_start(
    interpreter_of: Callable[[str], Path], tmp_path: Path
) -> None:
    script = converted("gluon_mlp", tmp_path, Options())
    job = run_job(
        interpreter_of("mxnet"), script, tmp_path / "job", ("--batch-size", "7"), workers=2
    )
    workers = [each for each in job.outcomes if each.role == "worker"]
    assert all("the nearest that is: " in each.errors for each in workers)
    assert all(each.status == 1 for each in workers)


@pytest.mark.parametrize(
    ("environment", "complaint"),
    [
        ({"OMPI_COMM_WORLD_SIZE": "2"}, "several tasks but no DMLC_ROLE"),
        ({"DMLC_NUM_WORKER": "2", "EXPECTED_WORLD_SIZE": "4"}, "1 workers started, 4 expected"),
    ],
)
def test_a_wrong_launch_says_so(
    environment: dict[str, str],
    complaint: str,
    interpreter_of: Callable[[str], Path],
    tmp_path: Path,
) -> None:
    script = converted("gluon_mlp", tmp_path, Options())
    done = subprocess.run(
        [interpreter_of("mxnet"), script],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert complaint in done.stderr
