"""Conversions with other options than the default, and launches that went wrong."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from cases import cases
from mxnet_jobs import Job, difference, run_job

from transpile import Options, convert
from transpile.options import ScaleLearningRate

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


@pytest.mark.parametrize("rate", ["linear", "sqrt"])
@pytest.mark.parametrize("name", ["gluon_mlp", "module_fit"])
def test_scaled_rates_train_as_one_process_with_a_larger_batch(
    name: str, rate: ScaleLearningRate, interpreter_of: Callable[[str], Path], tmp_path: Path
) -> None:
    text = SCRIPTS[name].read_text("utf-8")
    grown = {"linear": 2.0, "sqrt": 2**0.5}[rate]
    batch, learning_rate = {"gluon_mlp": ("default=8", "0.1"), "module_fit": ("= 10", "0.2")}[name]
    larger = {"default=8": "default=16", "= 10": "= 20"}[batch]
    # The schedule of the second counts the batches of the script.
    single = text.replace("step=epoch_size * 2", "step=epoch_size * 4").replace(batch, larger)
    alone = tmp_path / "single.py"
    alone.write_text(single.replace(learning_rate, str(float(learning_rate) * grown)), "utf-8")
    original = run_job(interpreter_of("mxnet"), alone, tmp_path / "alone")
    script = converted(name, tmp_path, Options(batch_size="per-device", scale_lr=rate))
    job = run_job(interpreter_of("mxnet"), script, tmp_path / "job", workers=2)
    assert trained(original)[0] == trained(job)[0] == trained(job)[1] > 0
    for worker in job.workers:
        assert difference(original.workers[0], worker) < 1e-4


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
