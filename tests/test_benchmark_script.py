"""The scripts that the benchmark converts are real ones."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import transpile

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))

import split_calls  # noqa: E402
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


@pytest.mark.parametrize("name", split_calls.MODELS)
def test_the_calls_of_its_models_are_split_where_asked_for(name: str, tmp_path: Path) -> None:
    scripts = {way: path.read_text() for way, path in split_calls.written(name, tmp_path)}
    wraps = {way: "= SplitCalls(" in text for way, text in scripts.items()}
    assert wraps == {way: way == "--shard calls" for way in scripts}
    assert {"by hand", "--shard calls"} <= wraps.keys()


@pytest.mark.slow
def test_the_collectives_of_a_step_are_counted(tmp_path: Path) -> None:
    script = dict(split_calls.written("classifier", tmp_path))["--shard calls"]
    found = split_calls.run(script)
    gathered = [values for kind, values in found["collectives"] if kind == "all_gather"]
    assert gathered == [64 * 10]
    assert len(found["wall"]) == len(found["processor"]) > 4
