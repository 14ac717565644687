"""Every converted MXNet fixture trains with several workers as it trained in one process."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cases import Case, cases
from mxnet_jobs import Job, difference, files_of, run_job

CONVERTED = [case for case in cases("mxnet") if case.expect == "converted"]
TOLERANCE = 1e-4


def settings(case: Case) -> dict[str, Any]:
    """What a case says beyond what all cases do."""
    found: dict[str, Any] = json.loads((case.folder / "case.json").read_text("utf-8"))
    return found


def run(case: Case, script: Path, folder: Path, interpreter: Path, workers: int = 0) -> Job:
    """Run a script of a case, beside what else its folder holds."""
    job = run_job(interpreter, script, folder, case.arguments, workers, servers=min(workers, 2))
    assert not job.trouble, job.trouble
    assert len(job.workers) == max(workers, 1)
    return job


@pytest.mark.parametrize("case", CONVERTED, ids=lambda case: case.name)
def test_output_trains_the_same_model(
    case: Case, interpreter_of: Callable[[str], Path], tmp_path: Path
) -> None:
    interpreter = interpreter_of("mxnet")
    said = settings(case)
    original = run(case, case.script, tmp_path / "original", interpreter)
    alone = run(case, case.expected_output, tmp_path / "alone", interpreter)
    together = run(case, case.expected_output, tmp_path / "together", interpreter, workers=2)
    before, only = original.workers[0], alone.workers[0]
    first, second = together.workers

    assert before["steps"] > 0
    assert difference(before, only) == 0 and only["samples"] == before["samples"]
    assert alone.output == original.output
    assert files_of(alone.folder) == files_of(original.folder) == files_of(together.folder)

    if said.get("asynchronous"):
        return
    assert difference(first, second) < said.get("spread", 1e-6)
    assert first["steps"] == second["steps"] == before["steps"]
    drawn = Counter(first["samples"]) + Counter(second["samples"])
    if "split_calls(" in case.expected_output.read_text("utf-8"):
        assert first["samples"] == second["samples"]
        drawn = Counter(first["samples"])
    missing = set(before["samples"]) - set(drawn)
    assert len(missing) <= said.get("cut", 0)
    extra = sum(drawn.values()) - len(before["samples"])
    assert extra <= said.get("padded", 0)
    if not said.get("padded"):
        assert not Counter(drawn) - Counter(before["samples"])
    written = first["files"] if first["files"] else second["files"]
    assert sorted(written) == sorted(before["files"])
    assert not (first["files"] and second["files"])
    if not said.get("library_prints"):
        silent = [each.output for each in together.outcomes if each.role == "worker"]
        assert "" in silent
        assert together.output.count("\n") == original.output.count("\n")
    if case.deterministic:
        assert difference(before, first) < TOLERANCE
        if said.get("numbers", True) and not said.get("library_prints"):
            assert together.output == original.output
