"""Tasks for SkyPilot: what SkyPilot reads in them, and what its machines run."""

from __future__ import annotations

import json
import os
import subprocess
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from framework_environments import ENVIRONMENTS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from launching import FakeTorchrun
from test_manifests import HOSTILE

from transpile.launch import targets
from transpile.launch.job import Job
from transpile.launch.manifests.volumes import Volume
from transpile.launch.roles import Resources

FULL: dict[str, Any] = {
    "nodes": 3,
    "gpus_per_node": 8,
    "gpu_type": "A100",
    "worker_resources": Resources(Decimal("12.5"), 120 * 10**9),
    "image": "registry.example.com/mine:1",
    "volumes": (Volume("/data/a b", "/data"), Volume("kept", "/kept")),
}
_READ = """\
import json, sys
import sky
task = sky.Task.from_yaml(sys.argv[1])
(resources,) = task.resources
accelerators = resources.accelerators
print(json.dumps([task.name, task.num_nodes, task.run, accelerators, resources.cpus,
                  resources.memory, str(resources.image_id), task.file_mounts]))
"""


def files(**choices: Any) -> dict[str, str]:
    job = Job(**{"script": "train_dist.py", "command": ("disttranspile",), **choices})
    return dict(targets()["sky"](job))


def task(**choices: Any) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(files(**choices)["train_dist.sky.yaml"])
    return found


def test_what_machines_are_asked_for() -> None:
    found = task(**FULL)
    assert {key: found[key] for key in found if key not in ("run", "resources")} == {
        "name": "train-dist",
        "workdir": ".",
        "num_nodes": 3,
        "file_mounts": {"/data": "/data/a b"},
        "volumes": {"/kept": "kept"},
    }
    assert found["resources"] == {
        "accelerators": "A100:8",
        "cpus": "12.5+",
        "memory": "112+",
        "image_id": "docker:registry.example.com/mine:1",
    }
    assert "resources" not in task(nodes=2)


def test_skypilot_accepts_it(tmp_path: Path) -> None:
    environment = ENVIRONMENTS["sky"]
    if not environment.is_complete:
        pytest.skip("no environment for SkyPilot: run tests/run_frameworks.py sky")
    (tmp_path / "data").mkdir()
    choices = {**FULL, "volumes": (Volume(str(tmp_path / "data"), "/data"),)}
    path = tmp_path / "train_dist.sky.yaml"
    path.write_text(files(**choices)["train_dist.sky.yaml"])

    def read() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(environment.interpreter), "-c", _READ, str(path)],
            env={**os.environ, "HOME": str(tmp_path), "SKYPILOT_DISABLE_USAGE_COLLECTION": "1"},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=250,
        )

    done = read()
    assert done.returncode == 0, done.stderr
    name, nodes, run, accelerators, cpus, memory, image, mounts = json.loads(done.stdout)
    assert (name, nodes, accelerators) == ("train-dist", 3, {"A100": 8})
    assert (cpus, memory) == ("12.5+", "112+")
    assert "registry.example.com/mine:1" in image
    assert mounts == {"/data": str(tmp_path / "data")}
    assert run.rstrip().endswith("exec sh ./train_dist.sky.sh")
    # It does not take everything.
    path.write_text(path.read_text().replace("num_nodes", "num_nodez"))
    assert read().returncode != 0


@pytest.mark.parametrize(
    ("choices", "complaint"),
    [
        ({"gpus_per_node": 2}, "say --gpu-type"),
        ({"nodes": 2, "min_nodes": 1}, "a fixed number of nodes"),
        ({"framework": "paddle", "mode": "pserver"}, "and no servers"),
        ({"script": "../train.py"}, "outside of it"),
        ({"image": "a b"}, "cannot be an image"),
    ],
)
def test_what_it_cannot(choices: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        files(**choices)


def test_each_machine_knows_its_place(tmp_path: Path) -> None:
    fake = FakeTorchrun(tmp_path / "fake")
    made = files(nodes=2, processes_without_gpus=2, script_arguments=("--epochs", "1"))
    (fake.folder / "train_dist.sky.sh").write_text(made["train_dist.sky.sh"])
    run = yaml.safe_load(made["train_dist.sky.yaml"])["run"]
    (fake.folder / "run.sh").write_text(run)
    for rank in ("0", "1"):
        told = {"SKYPILOT_NODE_RANK": rank, "SKYPILOT_NODE_IPS": "10.0.0.1\n10.0.0.2"}
        call = fake.run("run.sh", shell="bash", **told)
        assert (call.status, call.errors) == (0, "")
        assert call.words is not None
        assert f"--node-rank={rank}" in call.words
        assert {"--master-addr=10.0.0.1", "--nnodes=2", "--nproc-per-node=2"} <= {*call.words}
        assert call.words[-3:] == ["././train_dist.py", "--epochs", "1"]
        assert call.environment["NODE"] == f"10.0.0.{int(rank) + 1}"
        assert call.environment["NODES"] == "10.0.0.1,10.0.0.2"
        assert call.environment["EXPECTED_WORLD_SIZE"] == "4"


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(HOSTILE), st.sampled_from(["-x.py", "it's $(here).py", "a\n b.py"]))
def test_nothing_escapes(tmp_path_factory: pytest.TempPathFactory, word: str, script: str) -> None:
    fake = FakeTorchrun(tmp_path_factory.mktemp("sky") / "fake")
    made = files(script=script, name=word, script_arguments=(word,), work_directory="/")
    (manifest,) = (text for name, text in made.items() if name.endswith(".yaml"))
    (shell,) = ((name, text) for name, text in made.items() if name.endswith(".sh"))
    # Where SkyPilot puts the folder.
    (fake.folder / "sky_workdir").mkdir()
    (fake.folder / "sky_workdir" / shell[0]).write_text(shell[1])
    (fake.folder / "run.sh").write_text(yaml.safe_load(manifest)["run"])
    told = {"SKYPILOT_NODE_RANK": "0", "SKYPILOT_NODE_IPS": "10.0.0.1"}
    call = fake.run("run.sh", shell="bash", HOME=str(fake.folder), **told)
    assert (call.status, call.errors) == (0, "")
    assert call.words is not None and call.words[-1] == word
    assert call.words[-2].endswith(script)
    assert not (fake.folder / "broken").exists()
