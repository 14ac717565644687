"""Calls that are split over ranks give the numbers and derivatives of one process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from transpile.rules import pytorch

LIMIT = 120.0
RANKS = Path(__file__).with_name("split_calls_ranks.py")
HELPER = Path(pytorch.__file__).with_name("emitted") / "split_calls.py"


@pytest.mark.parametrize("world_size", [2, 3])
def test_split_calls_are_those_of_one_process(tmp_path: Path, world_size: int) -> None:
    """Even and uneven rows, fewer rows than ranks, second and third derivatives, all refusals."""
    pytest.importorskip("torch")
    command = [sys.executable, str(RANKS), str(HELPER), str(tmp_path), str(world_size)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    for rank in range(world_size):
        report = tmp_path / f"{world_size}-{rank}.json"
        assert report.exists(), ended.stderr
        wrong = json.loads(report.read_text("utf-8"))
        failed = {name: why for name, why in wrong.items() if why}
        assert not failed, "\n".join(failed.values())
        assert len(wrong) > 30
