"""The shell scripts in manifests: what they run, and what checkers of shell scripts say of them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from clusters import pods
from loopback import Ended, all_logs, on_loopback, run
from test_manifests import FITTING, FITTING_IDS, full, job, manifest

SHELLCHECK = Path(sys.executable).parent / "shellcheck"
ARGUMENTS = ("--tag", "it's $(here); a: b\n", "")
SAYS = """
import json, os, sys
print(json.dumps([sys.argv[1:], dict(os.environ)]))
"""


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder with a ``python``, whose paddle only says how its launcher was called."""
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "python").symlink_to(sys.executable)
    return folder


def said(ended: Ended) -> tuple[list[str], dict[str, str]]:
    """The arguments and the environment of what a pod started."""
    assert ended.status == 0, all_logs([ended])
    words, environment = json.loads(ended.log.splitlines()[-1])
    return words, environment


def run_saying(
    target: str, tmp_path: Path, programs: Path, *, paddle: bool = False, **choices: Any
) -> list[Ended]:
    """Run all pods of a job with a script, or a launcher of Paddle, that says what it gets."""
    basis: dict[str, Any] = {"nodes": 2, "script_arguments": ARGUMENTS}
    if paddle:
        package = tmp_path / "paddle" / "distributed"
        package.mkdir(parents=True)
        for folder in (package, package.parent):
            (folder / "__init__.py").touch()
        (package / "launch.py").write_text(SAYS)
        basis["environment"] = (("PYTHONPATH", str(tmp_path)),)
    wanted = job(**{**basis, **choices})
    files = {"train_dist.py": SAYS}
    return run(on_loopback(pods(manifest(target, wanted))), tmp_path / "pods", files, programs)


@pytest.mark.parametrize("target", ["kubernetes", "jobset", "volcano", "tfjob"])
def test_tensorflow_is_told_the_cluster(target: str, tmp_path: Path, programs: Path) -> None:
    clusters = set()
    for index, ended in enumerate(
        run_saying(target, tmp_path, programs, framework="tensorflow", nodes=3)
    ):
        words, environment = said(ended)
        configuration = json.loads(environment["TF_CONFIG"])
        assert words == list(ARGUMENTS)
        assert configuration["task"] == {"type": "worker", "index": index}
        clusters.add(tuple(configuration["cluster"]["worker"]))
        assert list(configuration["cluster"]) == ["worker"]
    (workers,) = clusters
    assert len(set(workers)) == 3


@pytest.mark.parametrize("target", ["kubernetes", "jobset", "volcano"])
def test_the_launcher_of_fluid_is_told_all_addresses(
    target: str, tmp_path: Path, programs: Path
) -> None:
    for ended in run_saying(
        target, tmp_path, programs, paddle=True, framework="fluid", gpus_per_node=1
    ):
        words, _ = said(ended)
        assert words.pop(2).startswith("--started_port=")
        assert words == [
            "--cluster_node_ips=127.0.0.1,127.0.0.1",
            "--node_ip=127.0.0.1",
            "--selected_gpus=0",
            "train_dist.py",
            *ARGUMENTS,
        ]


@pytest.mark.parametrize("target", ["kubernetes", "jobset", "volcano"])
def test_the_launcher_of_paddle_is_told_the_address_of_the_first_pod(
    target: str, tmp_path: Path, programs: Path
) -> None:
    found = run_saying(target, tmp_path, programs, paddle=True, framework="paddle", gpus_per_node=2)
    masters = set()
    for index, ended in enumerate(found):
        words, _ = said(ended)
        master, rank, nodes, devices, _, *rest = words
        masters.add(master)
        assert (rank, nodes, devices) == (f"--rank={index}", "--nnodes=2", "--devices=0,1")
        assert rest == ["train_dist.py", *ARGUMENTS]
    (master,) = masters
    assert master.startswith("--master=127.0.0.1:")


@pytest.mark.parametrize("target", ["kubernetes", "jobset", "volcano", "paddlejob"])
def test_each_pod_of_paddle_knows_the_servers_and_itself(
    target: str, tmp_path: Path, programs: Path
) -> None:
    found = run_saying(target, tmp_path, programs, framework="paddle", mode="pserver", servers=2)
    lists = set()
    for index, ended in zip([0, 1, 0, 1], found, strict=True):
        words, environment = said(ended)
        assert words == list(ARGUMENTS)
        assert environment["PADDLE_TRAINER_ID"] == str(index)
        lists.add(environment["PADDLE_PSERVERS_IP_PORT_LIST"])
        here = environment["POD_IP"] + ":" + environment.get("PADDLE_PORT", "")
        if environment["TRAINING_ROLE"] == "PSERVER":
            assert environment["PADDLE_PSERVERS_IP_PORT_LIST"].split(",")[index] == here
        else:
            assert "PADDLE_PORT" not in environment
    assert len(lists) == 1


def test_a_trainjob_runs_in_its_working_directory(tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "torchrun").write_text(f"#!{sys.executable}\n{SAYS}print(os.getcwd())\n")
    (programs / "torchrun").chmod(0o755)
    home = tmp_path / "it's $(here)"
    home.mkdir()
    wanted = job(work_directory=str(home), script_arguments=ARGUMENTS)
    (ended,) = run(pods(manifest("trainjob", wanted)), tmp_path / "pods", {}, programs)
    words, folder = ended.log.splitlines()
    assert json.loads(words)[0] == ["--tee=3", "--", "train_dist.py", *ARGUMENTS]
    assert folder == str(home)


@pytest.mark.parametrize(("target", "choices"), FITTING, ids=FITTING_IDS)
def test_shellcheck_has_nothing_to_say(target: str, choices: dict[str, Any]) -> None:
    scripts = {
        pod.words[2]
        for wanted in (job(**choices), job(**full(target, choices)))
        for pod in pods(manifest(target, wanted))
        if pod.words[:2] == ["sh", "-c"]
    }
    for script in scripts:
        done = subprocess.run(
            [str(SHELLCHECK), "--shell=sh", "--severity=warning", "-"],
            input=script,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert (done.returncode, done.stdout) == (0, "")
