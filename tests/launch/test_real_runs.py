"""Launch scripts that really start a converted script, which then trains to the end."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ports import free_port
from slurm_cluster import NoSlurm, SlurmCluster

TRAINING = Path(__file__).parents[2] / "fixtures" / "pytorch" / "mnist_arguments" / "train.py"
# What every process leaves behind at its end.
_LAST_LINES = """
import os as os_of_test
import sys as sys_of_test
with open("rank" + os_of_test.environ["RANK"], "w") as stream_of_test:
    stream_of_test.write(os_of_test.environ["WORLD_SIZE"] + repr(sys_of_test.argv[1:]))
"""
PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
ENVIRONMENT = {**os.environ, "PATH": PATH, "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}


@pytest.fixture
def training(command: Callable[..., Any]) -> list[str]:
    """A converted script in the current folder; the words that its launch is made of."""
    shutil.copy(TRAINING, "train.py")
    assert command("train.py", "-o", "train_dist.py").status in (0, 1)
    with open("train_dist.py", "a") as stream:
        stream.write(_LAST_LINES)
    return ["launch", "train_dist.py", "--processes-per-node", "2", "--env", "A=it's $x"]


def assert_trained(output: str, processes: int, arguments: list[str]) -> None:
    """Every process has come to its end, and what is said once is there once."""
    for rank in range(processes):
        path = Path(f"rank{rank}")
        assert path.exists(), output
        assert path.read_text() == f"{processes}{arguments!r}"
    assert not Path(f"rank{processes}").exists()
    assert output.count("Test set: Average loss") == 1


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmCluster]:
    try:
        cluster = SlurmCluster(tmp_path_factory.mktemp("slurm") / "cluster")
    except NoSlurm as error:
        pytest.skip(str(error))
    yield cluster
    cluster.stop()


@pytest.mark.slow
def test_slurm(command: Callable[..., Any], training: list[str], slurm: SlurmCluster) -> None:
    made = command(
        *training,
        *("--target", "slurm", "--nodes", "2", "--cpus", "2", "--memory", "500M"),
        *("--time", "10", "--partition", "all", "--name", "it's $(touch broken)"),
        *("--", "--epochs", "1", "--no-cuda"),
    )
    assert made.status == 0, made.errors
    tested = slurm.run("sbatch", "--test-only", "train_dist.sbatch")
    assert tested.returncode == 0, tested.stderr
    assert "using 4 processors on nodes n[0-1]" in tested.stderr
    state = slurm.run_job(
        *("train_dist.sbatch", "--lr", "0.5"),
        **{**ENVIRONMENT, "PATH": f"{PATH}:{slurm.environment['PATH']}"},
        # Both nodes are this machine, which does not know itself by their names.
        MASTER_ADDR="127.0.0.1",
    )
    (log,) = Path().glob("it-s-touch-broken-*.log")
    assert state == "COMPLETED", log.read_text()
    assert_trained(log.read_text(), 4, ["--epochs", "1", "--no-cuda", "--lr", "0.5"])
    logs = Path(log.stem)
    assert len(list(logs.glob("node[01]/*/attempt_0/[01]/stdout.log"))) == 4
    assert not Path("broken").exists()


@pytest.mark.slow
def test_slurm_ends_the_job_of_a_process_that_fails(
    command: Callable[..., Any], training: list[str], slurm: SlurmCluster
) -> None:
    made = command(*training, "--target", "slurm", "--nodes", "2", "--", "--no-such-option")
    assert made.status == 0, made.errors
    state = slurm.run_job(
        "train_dist.sbatch",
        **{**ENVIRONMENT, "PATH": f"{PATH}:{slurm.environment['PATH']}"},
        MASTER_ADDR="127.0.0.1",
    )
    assert state == "FAILED"
    (log,) = Path().glob("*.log")
    assert "unrecognized arguments: --no-such-option" in log.read_text()


@pytest.mark.slow
@pytest.mark.parametrize("implementation", ["openmpi", "mpich"])
def test_mpirun(command: Callable[..., Any], training: list[str], implementation: str) -> None:
    program = shutil.which(f"mpirun.{implementation}")
    if program is None:
        pytest.skip(f"mpirun.{implementation} is not installed")
    Path("programs").mkdir()
    Path("programs/mpirun").write_text(f'#!/bin/sh\nexec {program} "$@"\n')
    Path("programs/mpirun").chmod(0o755)
    made = command(*training, "--target", "mpi", "--", "--epochs", "1", "--no-cuda")
    assert made.status == 0, made.errors
    done = subprocess.run(
        ["./train_dist.mpi.sh", "--master-port", str(free_port()), "--", "--lr", "0.5"],
        env={**ENVIRONMENT, "PATH": f"programs:{PATH}"},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert_trained(done.stdout, 2, ["--epochs", "1", "--no-cuda", "--lr", "0.5"])
    marks = {"openmpi": "[1,0]<stdout>:", "mpich": "[0] "}
    assert (
        f"{marks[implementation]}\nTest set" in done.stdout or marks[implementation] in done.stdout
    )
