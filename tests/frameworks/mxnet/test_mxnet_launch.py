"""A launch script that starts a small script of MXNet, to the end."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from launch_runs import ARGUMENTS, converted, launched, run, run_in_slurm

Interpreters = Callable[[str], Path]

MXNET = """
import os
import sys

import mxnet as mx

store = mx.kv.create("dist_sync")
if "--fail" in sys.argv and store.rank == 1:
    os._exit(7)
assert store.num_workers == int(os.environ["EXPECTED_WORLD_SIZE"])
store.init(3, mx.nd.zeros((2,)))
store.push(3, mx.nd.ones((2,)) * (store.rank + 1))
pulled = mx.nd.zeros((2,))
store.pull(3, out=pulled)
print("rank", store.rank, "pulled", pulled.asnumpy().tolist(), sys.argv[1:], os.environ["A"])
"""


@pytest.mark.slow
def test_mxnet_local(
    command: Callable[..., Any], interpreter_of: Interpreters, monkeypatch: pytest.MonkeyPatch
) -> None:
    interpreter = interpreter_of("mxnet")
    # Left over from another job: whoever imports MXNet with it serves for ever.
    monkeypatch.setenv("DMLC_ROLE", "server")
    launched(command, MXNET, "--target", "dmlc", "--workers", "2", "--servers", "1")
    done = run("train_dist.dmlc.sh", interpreter, "--log-dir", "the logs", "last\n")
    assert done.returncode == 0, done.stdout + done.stderr
    lines = set(re.findall(r"^\[worker-[01]\] (.*)$", done.stdout, re.MULTILINE))
    assert lines == {f"rank {rank} pulled [3.0, 3.0] {ARGUMENTS!r} $x" for rank in (0, 1)}
    logs = {path.name for path in Path("the logs").iterdir()}
    assert logs == {"scheduler.log", "server-2.log", "worker-0.log", "worker-1.log"}
    failed = run("train_dist.dmlc.sh", interpreter, "--", "--fail")
    assert failed.returncode == 1
    assert "a process has failed, so all are ended" in failed.stderr
    assert not Path("broken").exists()


@pytest.mark.slow
def test_mxnet_in_slurm(
    command: Callable[..., Any], interpreter_of: Interpreters, tmp_path: Path
) -> None:
    interpreter = interpreter_of("mxnet")
    launched(
        *(command, MXNET, "--target", "slurm"),
        *("--nodes", "2", "--servers", "1"),
    )
    run_in_slurm(interpreter, tmp_path)
    logs = [Path(f"logs/worker-{index}.log").read_text() for index in (0, 1)]
    lines = set(re.findall(r"^(rank [01] pulled \[.*?\])", "".join(logs), re.MULTILINE))
    assert lines == {"rank 0 pulled [3.0, 3.0]", "rank 1 pulled [3.0, 3.0]"}
    assert Path("logs/server-0.log").exists()


@pytest.mark.slow
def test_a_converted_script_of_mxnet(
    command: Callable[..., Any], interpreter_of: Interpreters
) -> None:
    interpreter = interpreter_of("mxnet")
    converted(
        command, "mxnet/counts_workers", "--launch", "dmlc", "--workers", "2", "--servers", "1"
    )
    done = run("train_dist.dmlc.sh", interpreter, "--log-dir", "logs")
    assert done.returncode == 0, done.stdout + done.stderr
    logs = {path.stem: path.read_text() for path in Path("logs").iterdir()}
    assert set(logs) == {"scheduler", "server-2", "worker-0", "worker-1"}
    # What is said once is said by the worker of rank 0, whichever task that is.
    assert sorted("Validation-accuracy" in logs[f"worker-{task}"] for task in (0, 1)) == [
        False,
        True,
    ]
