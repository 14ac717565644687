"""A run that stops and is started again goes on as one process does."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from cases import FIXTURES

CASE = FIXTURES / "pytorch" / "resume_automatic"
FIRST, LAST = "3", "6"


def run(script: Path, world_size: int, epochs: str) -> str:
    """Run a script in its folder as so many processes; return what they print together."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        port = str(server.getsockname()[1])
    processes = []
    for rank in range(world_size):
        ranks = {
            "RANK": str(rank),
            "LOCAL_RANK": str(rank),
            "WORLD_SIZE": str(world_size),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": port,
        }
        environment = {**os.environ, "EPOCHS": epochs, "OMP_NUM_THREADS": "1"}
        processes.append(
            subprocess.Popen(
                [sys.executable, script.name],
                cwd=script.parent,
                env={**environment, **(ranks if world_size > 1 else {})},
                stdout=subprocess.PIPE,
                text=True,
            )
        )
    said = [process.communicate(timeout=120)[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * world_size
    return "".join(said)


def numbers(text: str) -> list[float]:
    """All numbers of a text, in order."""
    return [float(found) for found in re.findall(r"-?\d+(?:\.\d+)?", text)]


@pytest.mark.slow
def test_second_start_continues(tmp_path: Path) -> None:
    original, output = tmp_path / "original", tmp_path / "output"
    for folder, name in ((original, "train.py"), (output, "train_dist.py")):
        folder.mkdir()
        shutil.copy(CASE / name, folder / "train.py")
    expected = [run(original / "train.py", 1, epochs) for epochs in (FIRST, LAST)]
    found = [run(output / "train.py", 2, epochs) for epochs in (FIRST, LAST)]
    assert "continuing at epoch 3" in expected[1]
    for before, after in zip(expected, found, strict=True):
        assert re.sub(r"[\d.]+", "#", before) == re.sub(r"[\d.]+", "#", after)
        assert numbers(after) == pytest.approx(numbers(before), rel=2e-3)
