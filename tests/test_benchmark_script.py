"""The scripts that the benchmark converts are real ones."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import transpile

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))

from training_script import training_script  # noqa: E402


@pytest.mark.parametrize("lines", [300, 1500])
def test_it_is_as_long_as_asked_for_and_is_converted(lines: int) -> None:
    text = training_script(lines)
    assert lines <= text.count("\n") < lines + 40
    result = transpile.convert(text)
    assert result.outcome is transpile.Outcome.CONVERTED
    assert not result.findings


@pytest.mark.slow
def test_it_trains(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(training_script(300))
    done = subprocess.run(
        [sys.executable, str(path), "--epochs", "1"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "Among the best 1: " in done.stdout
