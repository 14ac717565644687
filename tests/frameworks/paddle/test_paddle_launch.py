"""A launch script that starts a small script of Paddle, to the end."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from launch_runs import ARGUMENTS, converted, launched, run
from ports import free_port

Interpreters = Callable[[str], Path]

PADDLE = """
import os
import sys

import paddle
import paddle.distributed as dist

dist.init_parallel_env()
assert dist.get_world_size() == int(os.environ["EXPECTED_WORLD_SIZE"])
found = paddle.to_tensor([dist.get_rank() + 1.0])
dist.all_reduce(found)
print("rank", dist.get_rank(), "sum", found.tolist(), sys.argv[1:], os.environ["A"])
if "--fail" in sys.argv and dist.get_rank() == 1:
    sys.exit(7)
"""


@pytest.mark.slow
def test_paddle_3(command: Callable[..., Any], interpreter_of: Interpreters) -> None:
    interpreter = interpreter_of("paddle")
    launched(command, PADDLE, "--target", "paddle-launch", "--processes-per-node", "2")
    done = run("train_dist.paddle.sh", interpreter, "--log-dir", "the logs", "last\n")
    logs = "".join(path.read_text() for path in sorted(Path("the logs").glob("workerlog.*")))
    assert done.returncode == 0, done.stdout + done.stderr + logs
    for rank in (0, 1):
        assert f"rank {rank} sum [3.0] {ARGUMENTS!r} $x" in logs
    failed = run("train_dist.paddle.sh", interpreter, "--", "--fail")
    assert failed.returncode != 0


@pytest.mark.slow
def test_paddle_3_on_two_nodes(command: Callable[..., Any], interpreter_of: Interpreters) -> None:
    interpreter = interpreter_of("paddle")
    launched(
        *(command, PADDLE, "--target", "paddle-launch", "--nodes", "2"),
        *("--processes-per-node", "1"),
    )
    master = f"127.0.0.1:{free_port()}"

    def node(rank: int) -> subprocess.CompletedProcess[str]:
        options = ("--node-rank", str(rank), "--master", master, "--log-dir", f"logs{rank}")
        return run("train_dist.paddle.sh", interpreter, *options)

    with ThreadPoolExecutor(2) as executor:
        done = list(executor.map(node, (0, 1)))
    for rank, each in enumerate(done):
        log = Path(f"logs{rank}/workerlog.0").read_text()
        assert each.returncode == 0, each.stdout + each.stderr + log
        assert f"rank {rank} sum [3.0]" in log


@pytest.mark.slow
def test_a_converted_script_of_paddle(
    command: Callable[..., Any], interpreter_of: Interpreters
) -> None:
    interpreter = interpreter_of("paddle")
    options = ("--launch", "paddle-launch", "--processes-per-node", "2")
    converted(command, "paddle/main_mlp", *options)
    done = run("train_dist.paddle.sh", interpreter, "--log-dir", "logs")
    logs = [path.read_text() for path in sorted(Path("logs").glob("workerlog.*"))]
    assert done.returncode == 0, done.stdout + done.stderr + "".join(logs)
    # What is said once is said by rank 0.
    assert ["loss" in log for log in logs] == [True, False]
