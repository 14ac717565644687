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


COUNTED = """\
import mxnet as mx
import numpy as np
from mxnet import autograd, gluon

mx.random.seed(3)
np.random.seed(3)
x = np.random.randn(44, 5).astype("float32")
y = (x.sum(axis=1) > 0).astype("float32")
net = gluon.nn.Dense(2)
net.initialize()
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
loss_fn = gluon.loss.SoftmaxCrossEntropyLoss()
train_data = gluon.data.DataLoader(gluon.data.ArrayDataset(x, y), 4)
test_data = gluon.data.DataLoader(gluon.data.ArrayDataset(x[:21], y[:21]), 4)
for epoch in range(3):
    for data, label in train_data:
        with autograd.record():
            loss = loss_fn(net(data), label)
        loss.backward()
        trainer.step(data.shape[0])
    right, count, total = 0, 0, 0.0
    for data, label in test_data:
        out = net(data)
        total += loss_fn(out, label).sum().asscalar()
        right += int((out.argmax(axis=1) == label).sum().asscalar())
        count += data.shape[0]
    print(epoch, right, count, "%.5f" % (total / count))
"""


@pytest.mark.parametrize("name", ["gluon_mlp", "gluon_devices", "module_fit", "counted"])
def test_evaluation_that_is_shared_out_says_the_same_numbers(
    name: str, interpreter_of: Callable[[str], Path], tmp_path: Path
) -> None:
    script = tmp_path / "train.py"
    script.write_text(COUNTED if name == "counted" else SCRIPTS[name].read_text("utf-8"), "utf-8")
    result = convert(script.read_bytes(), Options(evaluation="shard"), path="train.py")
    assert "EvaluationShare(" in result.text
    assert "MX611" not in {finding.code for finding in result.findings}
    shared = tmp_path / "train_dist.py"
    shared.write_bytes(result.data)
    interpreter = interpreter_of("mxnet")
    original = run_job(interpreter, script, tmp_path / "alone", timeout_seconds=300)
    job = run_job(interpreter, shared, tmp_path / "job", workers=2, timeout_seconds=300)
    assert not original.trouble and not job.trouble, original.trouble + job.trouble
    assert original.output and job.output == original.output
    if name == "counted":
        # Six batches: a worker that went through all of them would have seen these, too.
        assert "add_counts(total, right, count)" in result.text


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
