"""The table of what goes wrong is true: what it names is there, and shows what it says."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from cases import FIXTURES, cases, converted

from transpile import Verdict

ROOT = FIXTURES.parent
TEXT = (FIXTURES / "PITFALLS.md").read_text("utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in TEXT.splitlines()
    if line.startswith("| ") and not line.startswith("| what")
]
CASES = {case.folder.name: case for case in cases("pytorch")}
#: What a fixture of each outcome may be called.
OUTCOMES = {"handled": {"converted"}, "said": {"converted"}, "refused": {"refused"}}


def names(cell: str) -> list[str]:
    """The names in a cell."""
    return [name.strip() for name in cell.split(",")]


@cache
def shown(name: str) -> frozenset[str]:
    """The codes of what rules do to a fixture, or say of it."""
    if name.startswith("audit/"):
        found = (FIXTURES / name / "findings.txt").read_text("utf-8")
        return frozenset(re.findall(r"\bAU\d{3}\b", found))
    result = converted(CASES[name])
    acted = {each.code for each in result.decisions if each.verdict is Verdict.APPLY}
    settled = {each.code for each in result.decisions if each.code in ("PT401", "PT403")}
    return frozenset(acted | settled | {each.code for each in result.findings})


def test_there_is_a_row_for_each_line_of_the_table() -> None:
    assert len(ROWS) > 60
    assert all(len(row) == 4 for row in ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0][:40])
def test_row_is_shown(row: list[str]) -> None:
    _, outcome, codes, evidence = row
    wanted = set(names(codes))
    seen: set[str] = set()
    for name in names(evidence):
        if name.startswith("tests/"):
            place, _, function = name.partition("::")
            text = Path(ROOT, place).read_text("utf-8")
            assert f"def {function}" in text
            continue
        assert wanted & shown(name), f"{name} shows none of {codes}"
        seen |= shown(name)
        if name in CASES and outcome in OUTCOMES:
            assert CASES[name].expect in OUTCOMES[outcome]
    if seen:
        assert wanted <= seen, f"nothing shows {wanted - seen}"
