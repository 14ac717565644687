"""A launch script that starts a small script of Fluid, to the end."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from launch_runs import ARGUMENTS, converted, launched, run, run_in_slurm
from ports import free_port

Interpreters = Callable[[str], Path]

FLUID = """
import os
import sys

import numpy
import paddle.fluid as fluid

role = os.environ["TRAINING_ROLE"]
if "--fail" in sys.argv and os.environ.get("PADDLE_TRAINER_ID") == "1":
    sys.exit(7)
x = fluid.data("x", [None, 2])
loss = fluid.layers.mean(fluid.layers.fc(x, 1, param_attr=fluid.ParamAttr(name="weight")))
fluid.optimizer.SGD(0.1).minimize(loss)
transpiler = fluid.DistributeTranspiler()
transpiler.transpile(
    int(os.environ.get("PADDLE_TRAINER_ID", "0")),
    pservers=os.environ["PADDLE_PSERVERS_IP_PORT_LIST"],
    trainers=int(os.environ["PADDLE_TRAINERS_NUM"]),
)
executor = fluid.Executor(fluid.CPUPlace())
if role == "PSERVER":
    endpoint = os.environ["PADDLE_CURRENT_ENDPOINT"]
    assert endpoint == os.environ["POD_IP"] + ":" + os.environ["PADDLE_PORT"]
    program = transpiler.get_pserver_program(endpoint)
    executor.run(transpiler.get_startup_program(endpoint, program))
    executor.run(program)
else:
    executor.run(fluid.default_startup_program())
    program = transpiler.get_trainer_program()
    for _ in range(3):
        executor.run(program, feed={"x": numpy.ones([4, 2], "float32")}, fetch_list=[loss.name])
    weight = numpy.array(fluid.global_scope().find_var("weight").get_tensor())
    executor.close()
    print("rank", os.environ["PADDLE_TRAINER_ID"], weight.tolist(), sys.argv[1:], os.environ["A"])
"""


@pytest.mark.slow
def test_fluid_with_servers(command: Callable[..., Any], interpreter_of: Interpreters) -> None:
    interpreter = interpreter_of("fluid")
    launched(
        *(command, FLUID, "--target", "paddle-launch", "--mode", "pserver"),
        *("--workers", "2", "--servers", "2"),
    )
    port = str(free_port())
    done = run("train_dist.paddle.sh", interpreter, "--port", port, "--log-dir", "logs", "last\n")
    assert done.returncode == 0, done.stdout + done.stderr
    pattern = r"^\[worker-[01]\] rank ([01]) (\[\[.*?\]\]) (.*)$"
    found = re.findall(pattern, done.stdout, re.MULTILINE)
    assert {rank for rank, _, _ in found} == {"0", "1"}
    assert len({weight for _, weight, _ in found}) == 1
    assert {rest for _, _, rest in found} == {f"{ARGUMENTS!r} $x"}
    failed = run("train_dist.paddle.sh", interpreter, "--port", port, "--", "--fail")
    assert failed.returncode == 7


@pytest.mark.slow
def test_fluid_in_slurm(
    command: Callable[..., Any], interpreter_of: Interpreters, tmp_path: Path
) -> None:
    interpreter = interpreter_of("fluid")
    launched(
        *(command, FLUID, "--target", "slurm"),
        *("--mode", "pserver", "--nodes", "2", "--servers", "2"),
    )
    run_in_slurm(interpreter, tmp_path)
    logs = [Path(f"logs/worker-{index}.log").read_text() for index in (0, 1)]
    lines = set(re.findall(r"^(rank [01] \[\[.*?\]\])", "".join(logs), re.MULTILINE))
    assert {line[:6] for line in lines} == {"rank 0", "rank 1"}
    assert len({line[6:] for line in lines}) == 1
    assert Path("logs/server-0.log").exists()


@pytest.mark.slow
def test_a_converted_script_of_fluid(
    command: Callable[..., Any], interpreter_of: Interpreters
) -> None:
    interpreter = interpreter_of("fluid")
    converted(
        command,
        "fluid/linear_regression",
        "--launch",
        "paddle-launch",
        "--workers",
        "2",
        "--servers",
        "2",
    )
    done = run("train_dist.paddle.sh", interpreter, "--port", str(free_port()), "--log-dir", "logs")
    assert done.returncode == 0, done.stdout + done.stderr
    logs = {path.stem: path.read_text() for path in Path("logs").iterdir()}
    assert set(logs) == {"server-0", "server-1", "worker-0", "worker-1"}
    assert "predicted:" in logs["worker-0"]
    assert "predicted:" not in logs["worker-1"]
