"""The commands of all pods, with what operators add, train a script to its end on this machine."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from clusters import Pod, pods
from loopback import all_logs, on_loopback, run
from test_manifests import job, manifest

from transpile import Options, convert

ORIGINAL = Path(__file__).parents[2] / "fixtures" / "pytorch" / "main_sgd" / "train.py"
FIXTURE = Path(__file__).parents[2] / "fixtures" / "pytorch" / "main_sgd" / "train_dist.py"
WORDS = ("--epochs", "1")
SAYS_ITS_RANK = """
import os
open("rank" + os.environ["RANK"], "w").write(os.environ["WORLD_SIZE"])
print("the end of", os.environ["RANK"], os.environ["MINE"])
"""
# In pods that mpirun starts, every process finds its rank in its environment.
UNDER_MPI = """
import os, sys
rank, size = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
assert os.environ["EXPECTED_WORLD_SIZE"] == str(size), size
assert os.environ["MINE"] == "it's $(here); a: b", os.environ["MINE"]
import torch, torch.distributed as dist
dist.init_process_group("gloo", init_method="file://" + sys.argv[1], rank=rank, world_size=size)
weight, target = torch.zeros(3), torch.tensor([1.0, 2.0, 3.0])
for _ in range(100):
    gradient = (weight - target * (1 + rank)) * 2
    dist.all_reduce(gradient)
    weight -= 0.1 * gradient / size
trained = [round(value, 3) for value in weight.tolist()]
sys.stdout.write(f"trained {trained} {sys.argv[2]}\\n")
dist.barrier()
"""
MINE = (("MINE", "it's $(here); a: b"),)

pytestmark = pytest.mark.slow


def started(target: str, **choices: Any) -> list[Pod]:
    basis = {"nodes": 2, "gpus_per_node": 1, "environment": MINE, "script_arguments": WORDS}
    return on_loopback(pods(manifest(target, job(**{**basis, **choices}))))


@pytest.mark.parametrize(
    ("target", "choices"),
    [
        ("kubernetes", {"gpus_per_node": 2}),
        ("kubernetes", {"nodes": 1, "gpus_per_node": 2}),
        ("kubernetes", {"min_nodes": 1}),
        ("kubernetes", {"max_restarts": 1, "nodes": 3}),
        ("jobset", {}),
        ("volcano", {}),
        ("pytorchjob", {"gpus_per_node": 2}),
        ("pytorchjob", {"min_nodes": 1}),
        ("trainjob", {"gpus_per_node": 2, "trainer_version": "2.0"}),
        ("trainjob", {"max_restarts": 1}),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(map(str, value.items())),
)
def test_pytorch_trains_to_the_end(tmp_path: Path, target: str, choices: dict[str, Any]) -> None:
    script = FIXTURE.read_text("utf-8") + SAYS_ITS_RANK
    found = started(target, **choices)
    ended = run(found, tmp_path, {"train_dist.py": script}, Path(sys.executable).parent)
    logs = all_logs(ended)
    assert [each.status for each in ended] == [0] * len(found), logs
    world = len(found) * choices.get("gpus_per_node", 1)
    said = {path.name: path.read_text() for path in tmp_path.glob("*/rank*")}
    assert said == {f"rank{rank}": str(world) for rank in range(world)}
    for rank in range(world):
        assert logs.count(f"[rank {rank}] the end of {rank} it's $(here); a: b") == 1
    assert logs.count("train loss") == 1


@pytest.mark.parametrize("target", ["kubernetes", "trainjob"])
def test_another_number_of_processes_does_not_train(tmp_path: Path, target: str) -> None:
    (pod,) = started(target, nodes=1)
    told = {"PET_NPROC_PER_NODE": "2"} if target == "trainjob" else {}
    words = [word.replace("--nproc-per-node=1", "--nproc-per-node=2") for word in pod.words]
    wrong = Pod(pod.name, pod.role, 0, words, {**pod.environment, **told}, pod.spec)
    script = convert(ORIGINAL.read_bytes(), Options(check_launch=True)).text
    ended = run([wrong], tmp_path, {"train_dist.py": script}, Path(sys.executable).parent)
    assert ended[0].status != 0
    assert "2 processes started, 1 expected" in ended[0].log, all_logs(ended)


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="needs Open MPI: apt openmpi-bin")
def test_mpirun_starts_the_processes_of_an_mpijob(tmp_path: Path) -> None:
    arguments = (str(tmp_path / "store"), "a b; $(c)")
    found = started("mpijob", framework="singa", mpi="openmpi", script_arguments=arguments)
    (launcher,) = [pod for pod in found if pod.role == "launcher"]
    host_file = tmp_path / "hostfile"
    host_file.write_text("localhost slots=2\n")
    words = [word.replace("/etc/mpi/hostfile", str(host_file)) for word in launcher.words]
    here = Pod(launcher.name, launcher.role, 0, words, launcher.environment, launcher.spec)
    ended = run([here], tmp_path, {"train_dist.py": UNDER_MPI}, Path(sys.executable).parent)
    log = ended[0].log
    assert ended[0].status == 0, log
    for rank in range(2):
        assert f"[1,{rank}]<stdout>:trained [1.5, 3.0, 4.5] a b; $(c)" in log
