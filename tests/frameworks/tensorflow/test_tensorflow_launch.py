"""The launch script really starts workers, which train together."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cases import FIXTURES
from ports import free_port


def test_workers_of_one_machine_train_together(
    command: Callable[..., Any], interpreter_of: Callable[[str], Path], tmp_path: Path
) -> None:
    interpreter = interpreter_of("tensorflow")
    script = tmp_path / "train.py"
    script.write_bytes((FIXTURES / "tensorflow" / "own_train_step" / "train.py").read_bytes())
    words = ["--launch", "tf-multi-worker", "--processes-per-node", "2"]
    output = str(tmp_path / "train_dist.py")
    assert command(str(script), "-o", output, *words).status == 0
    first = free_port()
    done = subprocess.run(
        ["sh", str(tmp_path / "train_dist.tf-multi-worker.sh"), "--port", str(first)],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{interpreter.parent}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
    assert "[worker-0] loss [" in done.stdout
    assert "[worker-1] loss [" not in done.stdout
