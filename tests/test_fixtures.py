"""Every fixture comes out as a reviewer agreed that it should, and stays as it came out."""

from __future__ import annotations

import ast

import pytest
from cases import Case, cases, converted, findings_text

from transpile import Options, Outcome, Result, Verdict, convert
from transpile.rules.pytorch._prelude import FILES

ALL = cases()
CONVERTED = [case for case in ALL if case.expect == "converted"]
PROJECTS = [case for case in CONVERTED if case.project_output.is_dir()]


def convert_again(case: Case, options: Options | None = None) -> Result:
    """The tool on its own output."""
    return convert(
        case.expected_output.read_bytes(), options, path="train.py", folder=case.output_folder
    )


def emitted_lines(case: Case) -> set[int]:
    """The lines of what splits calls in an output, which is no code of the script's."""
    names = {name for file, names in FILES if file == "split_calls" for name in names}
    tree = ast.parse(case.expected_output.read_bytes())
    return {
        line
        for node in tree.body
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name in names
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_output_and_findings_are_those_agreed_on(case: Case) -> None:
    result = converted(case)
    assert result.outcome.value == case.expect, findings_text(result)
    assert findings_text(result) == case.expected_findings.read_text("utf-8")
    if case.expect == "converted":
        assert result.data == case.expected_output.read_bytes()
    else:
        assert result.data == case.script.read_bytes()
        assert not result.changed_modules


@pytest.mark.parametrize("case", PROJECTS, ids=lambda case: case.name)
def test_modules_are_those_agreed_on(case: Case) -> None:
    modules = {module.place: module.data for module in converted(case).modules}
    expected = {
        file.relative_to(case.project_output).as_posix(): file.read_bytes()
        for file in case.project_output.rglob("*.py")
        if file != case.expected_output
    }
    assert modules == expected


@pytest.mark.parametrize("case", CONVERTED, ids=lambda case: case.name)
def test_output_is_left_alone(case: Case) -> None:
    again = convert_again(case)
    assert again.outcome is Outcome.UNCHANGED
    assert again.data == case.expected_output.read_bytes()
    assert not again.changed_modules


@pytest.mark.parametrize("case", CONVERTED, ids=lambda case: case.name)
def test_every_rule_says_of_the_output_that_it_is_done(case: Case) -> None:
    # What splits calls is judged by the rules for that: those for shares of batches do not hold.
    text = case.expected_output.read_text("utf-8")
    splits = "SplitCalls(" in text or "@split_method(" in text
    way = {"shard": "calls"} if splits else {}
    chosen = Options(**{**dict(case.options), **way, "respect_distributed": False})  # type: ignore[arg-type]
    again = convert_again(case, chosen)
    emitted = emitted_lines(case)
    undone = [
        each
        for each in again.decisions
        if each.verdict is not Verdict.ALREADY_DONE and each.line not in emitted
    ]
    assert not undone
    assert again.decisions
    assert again.data == case.expected_output.read_bytes()
    assert not again.changed_modules
