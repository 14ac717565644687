"""Every converted TensorFlow fixture trains with two workers as it trained in one process."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cases import Case, cases
from tensorflow_jobs import difference, start, words_and_numbers

CONVERTED = [case for case in cases("tensorflow") if case.expect == "converted"]


def settings(case: Case) -> dict[str, Any]:
    """What a case says beyond what all cases do."""
    found: dict[str, Any] = json.loads((case.folder / "case.json").read_text("utf-8"))
    return found


@pytest.mark.parametrize("case", CONVERTED, ids=lambda case: case.name)
def test_output_trains_the_same_model(
    case: Case, interpreter_of: Callable[[str], Path], tmp_path: Path
) -> None:
    python = interpreter_of("tensorflow")
    said = settings(case)
    variables = said.get("environment", {})
    run = start(python, case.script, tmp_path / "before", case.arguments, variables=variables)
    before = run.end()
    assert not before.trouble, before.trouble
    output = case.expected_output
    together = start(python, output, tmp_path / "two", case.arguments, 2, variables).end()
    assert not together.trouble, together.trouble

    first, second = together.trained
    assert first and difference(first, second) == 0
    assert together.files == before.files | set(said.get("own_files", ()))
    assert together.outputs[1] == ""
    if case.deterministic:
        assert difference(before.trained[0], first) < said.get("tolerance", 1e-6)
    words, numbers = words_and_numbers(before.outputs[0])
    words_together, numbers_together = words_and_numbers(together.outputs[0])
    assert words_together == words
    if case.deterministic and said.get("numbers", True):
        assert numbers_together == pytest.approx(numbers, rel=1e-4, abs=1e-5)
    if said.get("alone"):
        alone = start(python, output, tmp_path / "one", case.arguments, variables=variables).end()
        assert not alone.trouble, alone.trouble
        assert alone.trained == before.trained and alone.outputs == before.outputs
        assert alone.files == before.files
