"""A run that stops and is started again goes on as one process does."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from cases import FIXTURES
from ranks import run_ranks

CASE = FIXTURES / "pytorch" / "resume_automatic"
FIRST, LAST = "3", "6"


def run(script: Path, world_size: int, epochs: str) -> str:
    """Run a script in its folder as so many processes; return what they print together."""
    ranks = run_ranks(script, world_size, EPOCHS=epochs)
    assert [rank.status for rank in ranks] == [0] * world_size, ranks
    return "".join(rank.output for rank in ranks)


def numbers(text: str) -> list[float]:
    """All numbers of a text, in order."""
    return [float(found) for found in re.findall(r"-?\d+(?:\.\d+)?", text)]


@pytest.mark.slow
@pytest.mark.timeout(1200)
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
