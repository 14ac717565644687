"""Every converted SINGA fixture really trains with several processes, on a stand-in for SINGA.

There is no wheel of SINGA, and its distributed part needs GPUs: see ``stand_in``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cases import Case, cases
from singa_jobs import Job, difference, run_job

CONVERTED = [case for case in cases("singa") if case.expect == "converted"]
DETERMINISTIC = [case for case in CONVERTED if case.deterministic]
BY_HAND = [case for case in CONVERTED if (case.folder / "by_hand.py").is_file()]
TOLERANCE = 1e-9


def settings(case: Case) -> dict[str, Any]:
    """What a case says beyond what all cases do."""
    found: dict[str, Any] = json.loads((case.folder / "case.json").read_text("utf-8"))
    return found


def run(case: Case, script: Path, folder: Path, processes: int = 1) -> Job:
    """Run a script of a case; with a script that starts its processes itself, let it."""
    more = {}
    if "start_processes()" in script.read_text("utf-8"):
        more, processes = {"WORLD_SIZE": str(processes)}, 1
    job = run_job(script, folder, case.arguments, processes, **more)
    assert not any(job.statuses), job.errors
    return job


@pytest.mark.parametrize("case", CONVERTED, ids=lambda case: case.name)
def test_output_trains_the_same_model(case: Case, tmp_path: Path) -> None:
    original = run(case, case.script, tmp_path / "original")
    alone = run(case, case.expected_output, tmp_path / "alone")
    together = run(case, case.expected_output, tmp_path / "together", 2)
    (before,), (only,) = original.parameters, alone.parameters
    first, second = together.parameters

    assert difference(before, only) == 0
    assert alone.outputs == original.outputs
    assert alone.files.keys() == original.files.keys()
    assert difference(first, second) == 0
    assert together.files.keys() == original.files.keys()
    texts = "".join(together.outputs)
    assert texts.count("\n") == original.outputs[0].count("\n")
    assert len(together.outputs) == 1 or "" in together.outputs
    if case.deterministic:
        assert difference(before, first) < TOLERANCE
        assert texts == original.outputs[0]
        assert {name: one for name, one in together.files.items() if name.endswith(".csv")} == {
            name: one for name, one in original.files.items() if name.endswith(".csv")
        }
    if "near" in settings(case):
        assert 0 < difference(before, first) < settings(case)["near"]


@pytest.mark.parametrize("case", DETERMINISTIC, ids=lambda case: case.name)
def test_three_processes_end_as_one(case: Case, tmp_path: Path) -> None:
    before = run(case, case.script, tmp_path / "original")
    together = run(case, case.expected_output, tmp_path / "together", 3)
    assert len(together.parameters) == 3
    for rank in together.parameters:
        assert difference(before.parameters[0], rank) < TOLERANCE
    assert "".join(together.outputs) == before.outputs[0]


@pytest.mark.parametrize("case", BY_HAND, ids=lambda case: case.name)
def test_an_own_path_is_taken_as_by_hand(case: Case, tmp_path: Path) -> None:
    together = run(case, case.expected_output, tmp_path / "together", 2)
    by_hand = run_job(case.folder / "by_hand.py", tmp_path / "by hand", (), 2)
    assert not any(by_hand.statuses), by_hand.errors
    for ours, theirs in zip(together.parameters, by_hand.parameters, strict=True):
        assert difference(ours, theirs) == 0
    assert together.outputs == by_hand.outputs


def test_a_batch_for_each_process_is_a_larger_one(tmp_path: Path) -> None:
    (case,) = [case for case in CONVERTED if "larger" in settings(case)]
    larger = run_job(case.script, tmp_path / "larger", tuple(settings(case)["larger"]))
    together = run(case, case.expected_output, tmp_path / "together", 2)
    assert difference(larger.parameters[0], together.parameters[0]) < TOLERANCE
    assert "".join(together.outputs) == larger.outputs[0]


@pytest.mark.parametrize(
    ("processes", "more", "said"),
    [
        (5, {}, "batch size 24 is not divisible by 5 processes: the nearest that is: 25"),
        (2, {"EXPECTED_WORLD_SIZE": "4"}, "2 processes started, 4 expected"),
        (1, {"WORLD_SIZE": "2"}, "WORLD_SIZE is set, but no such processes of MPI: use mpiexec"),
    ],
)
def test_a_wrong_start_is_told(
    processes: int, more: dict[str, str], said: str, tmp_path: Path
) -> None:
    (case,) = [case for case in CONVERTED if case.folder.name == "mlp_graph"]
    job = run_job(case.expected_output, tmp_path, (), processes, **more)
    assert all(job.statuses)
    assert all(errors.strip().endswith(said) for errors in job.errors)
