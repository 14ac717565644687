"""Jobs for Ray: what they ask for, and real ones on a cluster of two nodes on one machine."""

from __future__ import annotations

import ast
import fcntl
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from shlex import quote
from typing import Any

import pytest
from framework_environments import ENVIRONMENTS
from launch_runs import FIXTURES
from ports import free_port
from test_manifests import HOSTILE

from transpile.launch import targets
from transpile.launch.job import Job
from transpile.launch.roles import Resources

LIMIT = 240
_LAST_LINES = """
import os as os_of_test
import sys as sys_of_test
with open(os_of_test.environ["PLACE"] + "/rank" + os_of_test.environ["RANK"], "w") as stream:
    stream.write(os_of_test.environ["WORLD_SIZE"] + repr(sys_of_test.argv[1:]))
"""


def files(**choices: Any) -> dict[str, str]:
    job = Job(**{"script": "train_dist.py", "command": ("disttranspile",), **choices})
    return dict(targets()["ray"](job))


def constants(text: str) -> dict[str, Any]:
    """What a job has written down."""
    return {
        statement.targets[0].id: ast.literal_eval(statement.value)
        for statement in ast.parse(text).body
        if isinstance(statement, ast.Assign)
        and isinstance(statement.targets[0], ast.Name)
        and statement.targets[0].id != "FOLDER"
    }


@pytest.mark.parametrize(
    ("choices", "expected"),
    [
        ({}, {"NODES": 1, "EACH_NODE": {"CPU": 1}, "THREADS": 1}),
        (
            {
                "nodes": 3,
                "gpus_per_node": 4,
                "gpu_type": "A100",
                "worker_resources": Resources(Decimal(16), 10**9),
            },
            {
                "NODES": 3,
                "EACH_NODE": {
                    "CPU": 16.0,
                    "GPU": 4,
                    "accelerator_type:A100": 0.001,
                    "memory": 10**9,
                },
                "THREADS": 4,
            },
        ),
    ],
)
def test_what_a_cluster_is_asked_for(choices: dict[str, Any], expected: dict[str, Any]) -> None:
    found = constants(files(**choices)["train_dist.ray.py"])
    assert found == {**expected, "SCRIPT": "train_dist.ray.sh"}


@pytest.mark.parametrize(
    ("choices", "complaint"),
    [
        ({"nodes": 2, "min_nodes": 1}, "a fixed number of nodes"),
        ({"framework": "paddle", "mode": "pserver"}, "and no servers"),
        ({"script": "../train.py"}, "outside of it"),
        ({"script": "\udcff.py"}, "no text"),
    ],
)
def test_what_it_cannot(choices: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        files(**choices)


@pytest.mark.parametrize("word", HOSTILE)
def test_nothing_escapes_into_the_job(word: str) -> None:
    made = files(name=word, command=("disttranspile", word), script_arguments=(word,))
    plain = files(script_arguments=(word,))
    driver = made["train_dist.ray.py"]
    assert ast.dump(ast.parse(driver)) == ast.dump(ast.parse(plain["train_dist.ray.py"]))
    script = f"{word}.py".replace("/", "")
    (named,) = (text for path, text in files(script=script).items() if path.endswith(".ray.py"))
    assert constants(named)["SCRIPT"] == f"{script.removesuffix('.py') or script}.ray.sh"


class Cluster:
    """Two nodes of Ray on this machine."""

    def __init__(self, folder: Path) -> None:
        environment = ENVIRONMENTS["ray"]
        if not environment.is_complete:
            pytest.skip("no environment for Ray: run tests/run_frameworks.py ray")
        programs = environment.interpreter.parent
        # torchrun is that of the tests: the processes that train need no Ray.
        path = (str(programs), str(Path(sys.executable).parent), os.environ["PATH"])
        self.environment = {
            **os.environ,
            "PATH": os.pathsep.join(path),
            "CUDA_VISIBLE_DEVICES": "",
            "PLACE": str(folder),
            "RAY_DEDUP_LOGS": "0",
        }
        self.folder = folder
        port, self.dashboard = free_port(), free_port()
        common = ("--num-cpus=2", "--node-ip-address=127.0.0.1", "--disable-usage-stats", "--block")
        # Paths of sockets are short.
        self.temporary = Path(f"/tmp/ray-of-test-{os.getpid()}")
        head = (f"--port={port}", f"--dashboard-port={self.dashboard}")
        self.nodes = [
            self._start("--head", *head, f"--temp-dir={self.temporary}", *common),
        ]
        self._wait(lambda: self.ray("job", "list").returncode == 0)
        self.nodes.append(self._start(f"--address=127.0.0.1:{port}", *common))
        # Jobs can be listed before any can be started, and before the second node is there.
        self._wait(self._runs_jobs_on_two_nodes)

    def _runs_jobs_on_two_nodes(self) -> bool:
        asks = "import ray; ray.init(); raise SystemExit(len(ray.nodes()) < 2)"
        asked = self.ray("job", "submit", "--", "python", "-c", quote(asks))
        with (self.folder / "log").open("a") as log:
            log.write(asked.stdout + asked.stderr)
        return asked.returncode == 0

    def _start(self, *words: str) -> subprocess.Popen[bytes]:
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                ["ray", "start", *words],
                env=self.environment,
                cwd=self.folder,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def _wait(self, ready: Callable[[], bool]) -> None:
        end = time.monotonic() + LIMIT
        while not ready():
            gone = any(node.poll() is not None for node in self.nodes)
            if gone or time.monotonic() > end:
                self.stop()
                pytest.fail(f"Ray has not started: {(self.folder / 'log').read_text()}")
            time.sleep(1)

    def ray(self, *words: str, cwd: str = ".") -> subprocess.CompletedProcess[str]:
        """Run one of Ray's commands."""
        address = f"http://127.0.0.1:{self.dashboard}"
        return subprocess.run(
            ["ray", *words[:2], "--address", address, *words[2:]],
            env=self.environment,
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )

    def stop(self) -> None:
        for node in reversed(self.nodes):
            node.terminate()
        for node in self.nodes:
            node.wait(60)
        shutil.rmtree(self.temporary, ignore_errors=True)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Path(f"{tempfile.gettempdir()}/ray-of-tests.lock").open("w") as lock:
        # One at a time on a machine: workers that share the tests out would start one each.
        fcntl.flock(lock, fcntl.LOCK_EX)
        running = Cluster(tmp_path_factory.mktemp("ray"))
        yield running
        running.stop()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_job_trains_on_two_nodes(command: Callable[..., Any], cluster: Cluster) -> None:
    shutil.copy(FIXTURES / "pytorch" / "mnist_arguments" / "train.py", "train.py")
    choices = ("--target", "ray", "--nodes", "2", "--processes-per-node", "2")
    assert command("train.py", "-o", "train_dist.py").status in (0, 1)
    with open("train_dist.py", "a") as stream:
        stream.write(_LAST_LINES)
    made = command("launch", "train_dist.py", *choices, "--", "--epochs", "1", "--no-cuda")
    assert made.status == 0, made.errors
    words = ("--working-dir", ".", "--", "python", "train_dist.ray.py", "--lr", "0.5")
    done = cluster.ray("job", "submit", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    for rank in range(4):
        left = (cluster.folder / f"rank{rank}").read_text()
        assert left == f"4{['--epochs', '1', '--no-cuda', '--lr', '0.5']!r}"
    # Both nodes show the lines of either here: they share a folder of logs.
    told = set(re.findall(r"pid=(\d+).*\[worker(\d)\]:Test set: Average loss", done.stdout))
    assert len(told) == 1, done.stdout


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_job_fails_with_one_of_its_processes(
    command: Callable[..., Any], cluster: Cluster
) -> None:
    Path("fail_dist.py").write_text(
        "import os, time\n"
        "place = os.environ['PLACE']\n"
        "open(place + '/pid' + os.environ['RANK'], 'w').write(str(os.getpid()))\n"
        "limit = time.monotonic() + (120 if os.environ['RANK'] == '1' else 300)\n"
        "while time.monotonic() < limit:\n"
        "    if os.environ['RANK'] == '1' and os.path.exists(place + '/pid0'):\n"
        "        break\n"
        "    time.sleep(0.1)\n"
        "raise SystemExit(7)\n"
    )
    words = ("launch", "fail_dist.py", "--target", "ray", "--nodes", "2")
    assert command(*words, "--framework", "pytorch").status == 0
    began = time.monotonic()
    done = cluster.ray("job", "submit", "--working-dir", ".", "--", "python", "fail_dist.ray.py")
    told = done.stdout + done.stderr
    assert done.returncode != 0 and re.search("Job 'raysubmit_.*' failed", told), told
    assert time.monotonic() - began < 250
    assert (cluster.folder / "pid0").exists(), told
    process = int((cluster.folder / "pid0").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
