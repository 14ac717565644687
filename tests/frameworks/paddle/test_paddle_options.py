"""What options make of Paddle scripts trains as they say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from cases import cases
from launched import Run, run

from transpile import Options, Outcome, convert

np = pytest.importorskip("numpy")

CASES = {case.folder.name: case for case in cases("paddle")}
Interpreters = Callable[[str], Path]


def runs(
    name: str, options: Options, interpreter: Path, folder: Path, processes: int = 2
) -> tuple[Run, Run]:
    """The original as one process, and what becomes of it as several."""
    case = CASES[name]
    result = convert(case.script.read_bytes(), options, path="train.py", folder=case.folder)
    assert result.outcome is Outcome.CONVERTED, result.findings
    script = folder / "train_dist.py"
    script.write_bytes(result.data)
    return (
        run(interpreter, case.script, folder / "original", case.arguments, 1),
        run(interpreter, script, folder / "converted", case.arguments, processes),
    )


@pytest.mark.parametrize("name", ["resume_plateau", "high_level_fit", "accumulation_tail"])
def test_fleet_trains_the_same(name: str, interpreter_of: Interpreters, tmp_path: Path) -> None:
    original, double = runs(name, Options(paddle_api="fleet"), interpreter_of("paddle"), tmp_path)
    for first, second in zip(original.parameters, double.parameters, strict=True):
        assert np.abs(first - second).max() < 1e-4
    assert double.seen[1]["written"] == []


def test_a_batch_for_each_process_takes_half_the_steps(
    interpreter_of: Interpreters, tmp_path: Path
) -> None:
    options = Options(batch_size="per-device", scale_lr="linear")
    original, double = runs("main_mlp", options, interpreter_of("paddle"), tmp_path)
    assert double.seen[0]["steps"] * 2 == original.seen[0]["steps"]
    assert {len(batch) for batch in double.drawn(0)[0]} == {32}


def test_a_batch_that_the_processes_cannot_share_stops_at_the_start(
    interpreter_of: Interpreters, tmp_path: Path
) -> None:
    with pytest.raises(AssertionError, match="the nearest that is: 33"):
        runs("main_mlp", Options(), interpreter_of("paddle"), tmp_path, processes=3)


def test_fleet_says_that_it_trains_static_graphs_on_gpus_only(
    interpreter_of: Interpreters, tmp_path: Path
) -> None:
    with pytest.raises(AssertionError, match="fleet trains static graphs on GPUs only"):
        runs("static_feed", Options(paddle_api="fleet"), interpreter_of("paddle"), tmp_path)
