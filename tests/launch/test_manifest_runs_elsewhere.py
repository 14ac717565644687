"""The pods of other frameworks than PyTorch train to the end, each role as the manifest says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from clusters import pods
from framework_environments import ENVIRONMENTS
from loopback import Ended, all_logs, on_loopback, run
from test_manifests import job, manifest

# Each worker pulls the weights towards a place of its own; together they must meet halfway.
MXNET = """
import os, sys
import mxnet as mx
store = mx.kv.create("dist_sync")
assert store.num_workers == int(os.environ["EXPECTED_WORLD_SIZE"])
store.set_optimizer(mx.optimizer.SGD(learning_rate=0.1, rescale_grad=1.0 / store.num_workers))
weight, target = mx.nd.zeros(3), mx.nd.array([1.0, 2.0, 3.0]) * (1 + store.rank)
store.init(0, weight)
for _ in range(100):
    store.pull(0, out=weight)
    store.push(0, 2 * (weight - target))
store.pull(0, out=weight)
print("rank", store.rank, "trained", weight.asnumpy().round(2).tolist(), sys.argv[1:])
"""
PADDLE = """
import os, sys
import paddle
import paddle.distributed as dist
dist.init_parallel_env()
rank, size = dist.get_rank(), dist.get_world_size()
assert size == int(os.environ["EXPECTED_WORLD_SIZE"])
model = paddle.nn.Linear(1, 3, bias_attr=False)
parallel = paddle.DataParallel(model)
optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())
target = paddle.to_tensor([[1.0, 2.0, 3.0]]) * (1 + rank)
for _ in range(100):
    loss = ((parallel(paddle.ones([1, 1])) - target) ** 2).sum()
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
trained = [round(value, 2) for value in model.weight.numpy()[0].tolist()]
print("rank", rank, "trained", trained, sys.argv[1:])
"""
FLUID = """
import os, sys
import numpy as np
import paddle.fluid as fluid
index = int(os.environ["PADDLE_TRAINER_ID"])
data = fluid.data("data", [None, 1])
target = fluid.data("target", [None, 3])
found = fluid.layers.fc(data, 3, bias_attr=False, param_attr=fluid.ParamAttr(name="weight"))
loss = fluid.layers.reduce_sum(fluid.layers.square_error_cost(found, target))
fluid.optimizer.SGD(0.1).minimize(loss)
transpiler = fluid.DistributeTranspiler()
trainers = int(os.environ["PADDLE_TRAINERS_NUM"])
assert trainers == int(os.environ["EXPECTED_WORLD_SIZE"])
servers = os.environ["PADDLE_PSERVERS_IP_PORT_LIST"]
transpiler.transpile(index, pservers=servers, trainers=trainers)
executor = fluid.Executor(fluid.CPUPlace())
if os.environ["TRAINING_ROLE"] == "PSERVER":
    here = os.environ["POD_IP"] + ":" + os.environ["PADDLE_PORT"]
    main, startup = transpiler.get_pserver_programs(here)
    executor.run(startup)
    executor.run(main)
else:
    executor.run(fluid.default_startup_program())
    batch = {
        "data": np.ones((1, 1), "float32"),
        "target": np.array([[1, 2, 3]], "float32") * (1 + index),
    }
    program = transpiler.get_trainer_program()
    for _ in range(100):
        executor.run(program, feed=batch, fetch_list=[loss])
    weight = np.array(fluid.global_scope().find_var("weight").get_tensor())[0]
    print("rank", index, "trained", [round(float(value), 2) for value in weight], sys.argv[1:])
    executor.close()
"""
FIXTURES = Path(__file__).parents[2] / "fixtures"
ARGUMENTS = ("--tag", "it's $(here); a: b", "")

pytestmark = pytest.mark.slow


def run_all(
    tmp_path: Path, target: str, framework: str, script: str, ends: str = "", **choices: Any
) -> list[Ended]:
    """Run all pods to their ends, or until those of the role `ends` have ended."""
    environment = ENVIRONMENTS[framework]
    if not environment.is_complete:
        pytest.skip(f"needs {environment.folder.name}: python3 tests/run_frameworks.py {framework}")
    basis = {"framework": framework, "nodes": 2, "script_arguments": ARGUMENTS}
    wanted = job(**{**basis, **choices})
    found = on_loopback(pods(manifest(target, wanted)))
    files = {"train_dist.py": script}
    ended = run(found, tmp_path, files, environment.interpreter.parent, ends=ends)
    waited = [each for each in ended if ends in ("", each.pod.role)]
    assert [each.status for each in waited] == [0] * len(waited), all_logs(ended)
    return ended


def trained(ended: list[Ended]) -> list[Ended]:
    """See that both workers have trained one model with what both have."""
    logs = all_logs(ended)
    said = re.findall(r"rank (\d) trained (\[.*?\]) (\[.*\])", logs)
    weights = "[1.5, 3.0, 4.5]"
    assert sorted(said) == [(str(rank), weights, str(list(ARGUMENTS))) for rank in range(2)], logs
    return ended


@pytest.mark.parametrize("target", ["kubernetes", "jobset", "volcano", "mxjob"])
def test_scheduler_servers_and_workers_of_mxnet(tmp_path: Path, target: str) -> None:
    ended = trained(run_all(tmp_path, target, "mxnet", MXNET, servers=2))
    roles = [each.pod.role for each in ended]
    assert roles == ["scheduler", "server", "server", "worker", "worker"]


@pytest.mark.parametrize("target", ["kubernetes", "volcano", "paddlejob"])
def test_workers_of_paddle(tmp_path: Path, target: str) -> None:
    trained(run_all(tmp_path, target, "paddle", PADDLE))


@pytest.mark.parametrize("target", ["kubernetes", "jobset"])
def test_servers_and_workers_of_fluid(tmp_path: Path, target: str) -> None:
    trained(run_all(tmp_path, target, "fluid", FLUID, ends="worker", mode="pserver", servers=2))


@pytest.mark.parametrize("target", ["kubernetes", "mxjob"])
def test_a_converted_script_of_mxnet(tmp_path: Path, target: str) -> None:
    fixture = FIXTURES / "mxnet" / "gluon_mlp" / "train_dist.py"
    words = ("--epochs", "2")
    ended = run_all(tmp_path, target, "mxnet", fixture.read_text("utf-8"), script_arguments=words)
    logs = all_logs(ended)
    assert logs.count("epoch 1 train") == 1, logs
    assert len(list(tmp_path.glob("*/net.params"))) == 1, logs


@pytest.mark.parametrize("target", ["kubernetes", "paddlejob"])
def test_a_converted_script_of_paddle(tmp_path: Path, target: str) -> None:
    fixture = FIXTURES / "paddle" / "main_mlp" / "train_dist.py"
    ended = run_all(tmp_path, target, "paddle", fixture.read_text("utf-8"), script_arguments=())
    logs = all_logs(ended)
    assert logs.count("epoch 1: loss") == 1, logs
    assert len(list(tmp_path.glob("*/output/model.pdparams"))) == 1, logs


def test_a_converted_script_of_fluid(tmp_path: Path) -> None:
    script = (FIXTURES / "fluid" / "linear_regression" / "train_dist.py").read_text("utf-8")
    choices: dict[str, Any] = {"mode": "pserver", "servers": 2, "script_arguments": ()}
    ended = run_all(tmp_path, "kubernetes", "fluid", script, ends="worker", **choices)
    logs = all_logs(ended)
    assert logs.count("predicted: ") == 1, logs
    assert len(list(tmp_path.glob("*/line.model/__model__"))) == 1, logs
