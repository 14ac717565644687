"""Static graphs handed to fleet, which trains them on GPUs alone: the text is looked at here."""

from __future__ import annotations

import ast

import pytest
from cases import cases
from data_way import convert

from transpile import Options, Outcome

CASES = {case.folder.name: case for case in cases("paddle")}


@pytest.mark.parametrize("name", ["static_feed", "static_recommendation"])
def test_the_optimizer_goes_through_fleet(name: str) -> None:
    case = CASES[name]
    options = Options(paddle_api="fleet")
    result = convert(case.script.read_bytes(), options, path="train.py", folder=case.folder)
    assert result.outcome is Outcome.CONVERTED
    calls = {
        ast.unparse(node.func)
        for node in ast.walk(ast.parse(result.text))
        if isinstance(node, ast.Call)
    }
    assert "fleet.distributed_optimizer" in calls
    assert any(call.endswith(".minimize") for call in calls)
    assert "minimize_together" not in calls
    assert {finding.code for finding in result.findings} >= {"PD928"}
    again = convert(result.data, options, path="train_dist.py", folder=case.folder)
    assert again.outcome is Outcome.UNCHANGED
