"""Converted Fluid scripts are transpiled for NCCL2, as far as that goes without GPUs."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from transpile import Options, convert

RECORD = Path(__file__).with_name("nccl2_record.py")
SCRIPT = """\
import paddle
import paddle.fluid as fluid


def rows():
    for i in range(64):
        yield [i / 64.0], [i / 32.0]


x = fluid.layers.data("x", [1], dtype="float32")
y = fluid.layers.data("y", [1], dtype="float32")
loss = fluid.layers.mean(fluid.layers.square_error_cost(fluid.layers.fc(x, 1), y))
fluid.optimizer.SGD(0.1).minimize(loss)
place = fluid.CUDAPlace(0)
exe = fluid.Executor(place)
exe.run(fluid.default_startup_program())
feeder = fluid.DataFeeder([x, y], fluid.CPUPlace())
@
"""
EXECUTOR = """\
train = fluid.ParallelExecutor(use_cuda=True, loss_name=loss.name)
for batch in paddle.batch(rows, 8)():
    train.run(feed=feeder.feed(batch), fetch_list=[loss.name])
"""
COMPILED = """\
main = fluid.CompiledProgram(fluid.default_main_program()).with_data_parallel(
    loss_name=loss.name)
for batch in paddle.batch(rows, 8)():
    exe.run(main, feed=feeder.feed(batch))
"""
TRAINERS = 2
#: Seconds that a trainer may take: the wheel for GPUs is slow to import.
PATIENCE = 120


@pytest.fixture
def endpoints() -> Iterator[list[str]]:
    """Addresses of trainers, at which somebody listens.

    The transpiler of trainer 0 waits until the others listen; they do so in the startup program,
    which cannot run here.
    """
    with ExitStack() as stack:
        found = []
        for _ in range(TRAINERS):
            listening = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            found.append(f"127.0.0.1:{listening.getsockname()[1]}")
        yield found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("training", "told"),
    [(EXECUTOR, "executor"), (COMPILED, "strategy")],
    ids=["executor", "strategy"],
)
def test_each_trainer_is_told_of_the_others(
    training: str,
    told: str,
    endpoints: list[str],
    interpreter_of: Callable[[str], Path],
    tmp_path: Path,
) -> None:
    result = convert(SCRIPT.replace("@", training), Options(mode="nccl2"))
    assert result.outcome.value == "converted", result.findings
    script = tmp_path / "train_dist.py"
    script.write_bytes(result.data)
    for number in range(TRAINERS):
        seen = recorded(interpreter_of("fluid_nccl2"), script, number, endpoints)
        assert seen["gpus"] == [number]
        assert seen["startup"] == {"gen_nccl_id": {"trainers": endpoints, "trainer_id": number}}
        assert seen[told] == [TRAINERS, number]
        assert seen["batches"] == [{"x": [4, 1], "y": [4, 1]}] * 8


def recorded(python: Path, script: Path, number: int, endpoints: list[str]) -> dict[str, Any]:
    """What a trainer would run."""
    launcher = {
        "PADDLE_TRAINER_ENDPOINTS": ",".join(endpoints),
        "PADDLE_CURRENT_ENDPOINT": endpoints[number],
        "PADDLE_TRAINER_ID": str(number),
        "PADDLE_TRAINERS_NUM": str(len(endpoints)),
        "FLAGS_selected_gpus": str(number),
    }
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PADDLE")}
    done = subprocess.run(
        [python, RECORD, script],
        env={**kept, **launcher},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    line = next(line for line in done.stdout.splitlines() if line.startswith("SEEN "))
    seen: dict[str, Any] = json.loads(line.removeprefix("SEEN "))
    return seen
