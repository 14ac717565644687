"""What options make of Paddle scripts trains as they say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from cases import cases
from launched import Run, run

from transpile import Options, Outcome, convert

np = pytest.importorskip("numpy")

CASES = {case.folder.name: case for case in cases("paddle")}
Interpreters = Callable[[str], Path]


def runs(
    name: str, options: Options, interpreter: Path, folder: Path, processes: int = 2
) -> tuple[Run, Run]:
    """The original as one process, and what becomes of it as several."""
    case = CASES[name]
    result = convert(case.script.read_bytes(), options, path="train.py", folder=case.folder)
    assert result.outcome is Outcome.CONVERTED, result.findings
    script = folder / "train_dist.py"
    script.write_bytes(result.data)
    return (
        run(interpreter, case.script, folder / "original", case.arguments, 1),
        run(interpreter, script, folder / "converted", case.arguments, processes),
    )


@pytest.mark.parametrize("name", ["resume_plateau", "high_level_fit", "accumulation_tail"])
def test_fleet_trains_the_same(name: str, interpreter_of: Interpreters, tmp_path: Path) -> None:
    original, double = runs(name, Options(paddle_api="fleet"), interpreter_of("paddle"), tmp_path)
    for first, second in zip(original.parameters, double.parameters, strict=True):
        assert np.abs(first - second).max() < 1e-4
    assert double.seen[1]["written"] == []


def test_a_batch_for_each_process_takes_half_the_steps(
    interpreter_of: Interpreters, tmp_path: Path
) -> None:
    options = Options(batch_size="per-device", scale_lr="linear")
    original, double = runs("main_mlp", options, interpreter_of("paddle"), tmp_path)
    assert double.seen[0]["steps"] * 2 == original.seen[0]["steps"]
    assert {len(batch) for batch in double.drawn(0)[0]} == {32}


def test_a_batch_that_the_processes_cannot_share_stops_at_the_start(
    interpreter_of: Interpreters, tmp_path: Path
) -> None:
    with pytest.raises(AssertionError, match="the nearest that is: 33"):
        runs("main_mlp", Options(), interpreter_of("paddle"), tmp_path, processes=3)


def test_fleet_says_that_it_trains_static_graphs_on_gpus_only(
    interpreter_of: Interpreters, tmp_path: Path
) -> None:
    with pytest.raises(AssertionError, match="fleet trains static graphs on GPUs only"):
        runs("static_feed", Options(paddle_api="fleet"), interpreter_of("paddle"), tmp_path)


UNEVEN = """\
import numpy as np
import paddle
from paddle.io import BatchSampler, DataLoader, TensorDataset


class Groups(BatchSampler):
    def __init__(self, batches):
        self.batches = batches

    def __iter__(self):
        return iter(self.batches)

    def __len__(self):
        return len(self.batches)


rows = paddle.to_tensor(np.ones((12, 4), "float32"))
data = TensorDataset([rows])
loader = DataLoader(data, batch_sampler=Groups([[0, 1, 2, 3], [4, 5, 6], [7, 8, 9, 10]]))
net = paddle.nn.Linear(4, 1)
optimizer = paddle.optimizer.SGD(0.01, parameters=net.parameters())
for (x,) in loader:
    loss = (net(x) ** 2).mean()
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
"""


def test_a_batch_in_between_that_cannot_be_shared_stops_the_job(
    interpreter_of: Interpreters, tmp_path: Path
) -> None:
    result = convert(UNEVEN.encode(), Options(shard="data"), path="train.py")
    script = tmp_path / "train_dist.py"
    script.write_bytes(result.data)
    with pytest.raises(AssertionError, match="a batch of 3 samples is not divisible by 2"):
        run(interpreter_of("paddle"), script, tmp_path / "work", (), 2)
