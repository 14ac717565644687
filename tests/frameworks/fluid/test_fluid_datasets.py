"""Trainers shard the lines of data sets that executors read from files themselves."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fluid_cluster import Cluster

from transpile import Options, convert

SCRIPT = """\
import paddle.fluid as fluid

x = fluid.layers.data(name="x", shape=[2], dtype="float32")
y = fluid.layers.data(name="y", shape=[1], dtype="float32")
start = fluid.ParamAttr(name="weight", initializer=fluid.initializer.Constant(0.1))
score = fluid.layers.fc(x, 1, param_attr=start)
loss = fluid.layers.mean(fluid.layers.square_error_cost(score, y))
fluid.optimizer.SGD(learning_rate=0.1).minimize(loss)
exe = fluid.Executor(fluid.CPUPlace())
exe.run(fluid.default_startup_program())
dataset = fluid.DatasetFactory().create_dataset("QueueDataset")
dataset.set_use_var([x, y])
dataset.set_batch_size(6)
dataset.set_thread(1)
dataset.set_pipe_command("sed s/,/./g")
dataset.set_filelist(["part 0", "part1.gz", "part2"])
for epoch in range(2):
    exe.train_from_dataset(
        program=fluid.default_main_program(), dataset=dataset,
        fetch_list=[loss], fetch_info=["cost"], print_period=2)
print("trained")
"""
#: Of 35 samples the last batch, of 5, is padded with the first one.
SIZES = (10, 12, 13)


def prepared(work: Path, script: str, **options: object) -> Path:
    """A folder with the files, a script and what is made of it."""
    folder = work / "source"
    folder.mkdir()
    rng = np.random.RandomState(0)
    for name, size in zip(("part 0", "part1.gz", "part2"), SIZES, strict=True):
        rows = rng.rand(size, 2)
        text = "".join(f"2 {a:f} {b:f} 1 {a + b:f}\n".replace(".", ",") for a, b in rows)
        data = text.encode()
        (folder / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    (folder / "train.py").write_text(script)
    result = convert(script, Options(**options))  # type: ignore[arg-type]
    assert result.outcome.value == "converted", result.findings
    (folder / "train_dist.py").write_bytes(result.data)
    return folder


def expected(folder: Path) -> np.ndarray[Any, Any]:
    """The weights of one process that pads the last batch of each pass with its first sample."""
    texts = [(folder / "part 0").read_bytes(), gzip.decompress((folder / "part1.gz").read_bytes())]
    texts.append((folder / "part2").read_bytes())
    rows = [line.split() for line in b"".join(texts).decode().replace(",", ".").splitlines()]
    rows.append(rows[0])
    data = np.array([[float(row[1]), float(row[2]), float(row[4])] for row in rows])
    weight, bias = np.full(2, 0.1), 0.0
    for _ in range(2):
        for first in range(0, len(data), 6):
            batch = data[first : first + 6]
            off = batch[:, :2] @ weight + bias - batch[:, 2]
            weight = weight - 0.1 * 2 * (off[:, None] * batch[:, :2]).mean(0)
            bias -= 0.1 * 2 * off.mean()
    return weight


@pytest.mark.parametrize("kind", ["QueueDataset", "InMemoryDataset"])
def test_trainers_share_out_the_lines(
    kind: str, interpreter_of: Callable[[str], Path], tmp_path: Path
) -> None:
    script = SCRIPT.replace("QueueDataset", kind)
    if kind == "InMemoryDataset":
        script = script.replace("for epoch", "dataset.load_into_memory()\nfor epoch")
    folder = prepared(tmp_path, script)
    cluster = Cluster(interpreter_of("fluid"), folder, tmp_path)
    first, second = cluster.together("train_dist.py", servers=2)
    assert [first.status, second.status] == [0, 0], first.errors[-2000:]
    wanted = expected(folder)
    for ended in (first, second):
        with np.load(ended.parameters) as found:
            np.testing.assert_allclose(found["weight"].ravel(), wanted, atol=1e-5)
    assert first.output.endswith("trained\n") and "cost" in first.output
    assert not second.output


def without_numbers(output: str) -> list[str]:
    """The lines of an output without the losses that they show."""
    return [line.split("data:")[0] for line in output.splitlines()]


def test_one_process_trains_as_before(
    interpreter_of: Callable[[str], Path], tmp_path: Path
) -> None:
    cluster = Cluster(interpreter_of("fluid"), prepared(tmp_path, SCRIPT), tmp_path)
    one, alone = cluster.alone("train.py"), cluster.alone("train_dist.py")
    assert [one.status, alone.status] == [0, 0], alone.errors[-2000:]
    # Fluid counts batches from a number that it does not set, so that any batch may be shown first.
    assert without_numbers(one.output) == without_numbers(alone.output)
    with np.load(one.parameters) as before, np.load(alone.parameters) as after:
        np.testing.assert_array_equal(before["weight"], after["weight"])


def test_asynchronous_trainers_share_out_the_lines(
    interpreter_of: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = prepared(tmp_path, SCRIPT, async_mode=True)
    cluster = Cluster(interpreter_of("fluid"), folder, tmp_path)
    for ended in cluster.together("train_dist.py"):
        assert ended.status == 0, ended.errors[-2000:]
        with np.load(ended.parameters) as found:
            assert np.abs(found["weight"] - 0.1).max() > 1e-2
