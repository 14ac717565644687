"""The advice of refusals: who follows it has a script that converts, and trains as one process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from followed import CASES, Advised
from followed_elsewhere import ELSEWHERE

from transpile.verify import Auditor

IDS = [case.code for case in CASES]


@pytest.mark.parametrize("case", [*CASES, *ELSEWHERE], ids=lambda case: case.code)
def test_a_refusal_advises(command: Callable[..., Any], case: Advised) -> None:
    Path("train.py").write_text(case.refused)
    run = command("train.py", "-o", "train_dist.py", *case.options)
    assert run.status == 3, run.errors
    assert not Path("train_dist.py").exists()
    _, advice = run.errors.split(f" {case.code} ")[:2]
    assert case.advice in " ".join(advice.split("train.py:")[0].split())
    told = command("explain", case.code)
    assert told.status == 0
    assert b"Why:" in told.output or case.code.startswith("DT")


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_who_follows_it_has_a_script_that_trains(
    command: Callable[..., Any], auditor: Auditor, case: Advised
) -> None:
    Path("train.py").write_text(case.followed)
    run = command("train.py", "-o", "train_dist.py", *case.options)
    assert run.status in (0, 1), run.errors
    report = auditor.audit(Path("train.py"), Path("train_dist.py"), tolerance=1e-9)
    assert report.passed, report


@pytest.mark.parametrize("case", ELSEWHERE, ids=lambda case: case.code)
def test_who_follows_it_elsewhere_has_a_script_that_converts(
    command: Callable[..., Any], case: Advised
) -> None:
    Path("train.py").write_text(case.followed)
    run = command("train.py", "-o", "train_dist.py", *case.options)
    assert run.status in (0, 1), run.errors
    assert Path("train_dist.py").read_text() != case.followed


def test_as_many_refusals_as_are_met_most_often() -> None:
    assert len({case.code for case in CASES}) >= 15
