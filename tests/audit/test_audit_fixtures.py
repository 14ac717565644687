"""The audit on scripts that are wrong, on the same scripts put right, and on all conversions."""

from __future__ import annotations

import re
import shutil
import signal
import sys
from collections import Counter
from pathlib import Path

import pytest
from cases import FIXTURES, Case, cases
from ranks import Ended, run_ranks

from transpile import catalog
from transpile.audit.check import Check
from transpile.auditing import audit
from transpile.finding import Finding, Level
from transpile.report.text import render_findings

FOLDERS = sorted(path for path in (FIXTURES / "audit").iterdir() if path.is_dir())
HEADINGS = ("What", "Why", "Before", "After", "Refuses when", "Source")
OUTPUTS = [case for case in cases("pytorch") if case.expected_output.is_file()]
#: A process that has not come to its end by then never will.
SECONDS = 30


def findings(script: Path) -> tuple[Finding, ...]:
    return audit(script.read_bytes(), path=script.name, folder=script.parent)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_what_is_wrong_is_found(folder: Path) -> None:
    expected = (folder / "findings.txt").read_text("utf-8")
    assert render_findings(findings(folder / "wrong.py")) == expected


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_what_is_right_is_left_alone(folder: Path) -> None:
    assert findings(folder / "right.py") == ()


@pytest.mark.parametrize("case", OUTPUTS, ids=lambda case: case.name)
def test_a_conversion_neither_hangs_nor_goes_apart(case: Case) -> None:
    script = case.expected_output
    found = audit(script.read_bytes(), path=script.name, folder=case.output_folder)
    assert [f for f in found if f.level is Level.ERROR or f.code == "AU001"] == []


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_fix_mends_what_is_found_and_breaks_nothing(folder: Path) -> None:
    text = (folder / "wrong.py").read_text("utf-8")
    before = findings(folder / "wrong.py")
    for finding in before:
        if finding.fix is None:
            continue
        mended = audit(finding.fix.apply(text), path="wrong.py", folder=folder)
        ours = Counter((one.code, one.message) for one in before)
        theirs = Counter((one.code, one.message) for one in mended)
        assert theirs - ours == Counter()
        assert ours - theirs >= Counter({(finding.code, finding.message): 1})


def test_what_can_be_mended_is() -> None:
    mended = {
        one.code
        for folder in FOLDERS
        for one in findings(folder / "wrong.py")
        if one.fix is not None
    }
    assert mended == {"AU202", "AU203", "AU204", "AU206", "AU401", "AU406", "AU407", "AU603"}


def test_every_code_has_a_fixture() -> None:
    shown = set()
    for folder in FOLDERS:
        text = (folder / "findings.txt").read_text("utf-8")
        shown.update(re.findall(r"\bAU\d{3}\b", text))
    assert shown == {code for check in catalog.checks() for code in check.codes}


def test_no_code_belongs_to_two_checks() -> None:
    codes = [code for check in catalog.checks() for code in check.codes]
    assert len(codes) == len(set(codes))


@pytest.mark.parametrize("check", catalog.checks(), ids=lambda check: check.name)
def test_docstring_has_every_heading(check: Check) -> None:
    assert check.doc.strip().splitlines()[0].endswith(".")
    for heading in HEADINGS:
        assert re.search(rf"^{heading}:\n    \S", check.doc, re.MULTILINE), heading


@pytest.mark.parametrize("check", catalog.checks(), ids=lambda check: check.name)
def test_what_is_left_out_where_errors_alone_matter_finds_none(check: Check) -> None:
    module = sys.modules[check.decide.__module__]
    text = Path(str(module.__file__)).read_text("utf-8")
    assert check.only_warns == (re.search(r"Level\.ERROR|Remark\.error", text) is None)


def test_checks_that_only_warn_are_left_out_where_errors_alone_matter() -> None:
    for framework in catalog.frameworks():
        expected = [check.name for check in catalog.checks(framework) if not check.only_warns]
        found = catalog.checks(framework, errors_only=True)
        assert [check.name for check in found] == expected


@pytest.mark.parametrize("script", ["train.py", "train_dist.py"])
def test_a_script_that_is_not_distributed_is_said_to_be_none(script: str) -> None:
    found = findings(FIXTURES / "pytorch" / "main_sgd" / script)
    assert [f.code for f in found] == (["AU001"] if script == "train.py" else [])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["some_ranks_meet", "local_decisions", "part_of_the_numbers"])
def test_what_is_right_runs_to_its_end(name: str, tmp_path: Path) -> None:
    script = tmp_path / "right.py"
    shutil.copy(FIXTURES / "audit" / name / "right.py", script)
    ranks = run_ranks(script, 2)
    for _ in range(2):
        if any(is_ended_by_gloo(rank) for rank in ranks):
            ranks = run_ranks(script, 2)
    assert [rank.status for rank in ranks] == [0, 0], ranks


def is_ended_by_gloo(rank: Ended) -> bool:
    """Whether Gloo ended a process that was done, as it may where its group is destroyed by hand.

    What is converted keeps the last collective until the process ends, which prevents it.
    """
    return rank.status == -signal.SIGABRT and "without an active exception" in rank.errors


@pytest.mark.slow
def test_what_is_said_to_hang_hangs(tmp_path: Path) -> None:
    text = (FIXTURES / "audit" / "some_ranks_meet" / "right.py").read_text("utf-8")
    everybody = "        dist.barrier()\n    save"
    nobody_else = "        if get_rank() == 0:\n            dist.barrier()\n    save"
    lonely = text.replace(everybody, nobody_else)
    assert lonely != text
    script = tmp_path / "lonely.py"
    script.write_text(lonely, "utf-8")
    assert [f.code for f in findings(script)] == ["AU101"]
    assert [rank.status for rank in run_ranks(script, 2, limit=SECONDS)] != [0, 0]
