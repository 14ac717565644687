"""Every converted fixture trains with several processes as it trained with one."""

from __future__ import annotations

import pytest
from cases import Case, cases

from transpile.verify import Auditor
from transpile.verify.table import format_report

CONVERTED = [case for case in cases("pytorch") if case.expect == "converted"]


@pytest.mark.parametrize("case", CONVERTED, ids=lambda case: case.name)
def test_output_trains_the_same_model(case: Case, auditor: Auditor) -> None:
    report = auditor.audit(
        case.script,
        case.expected_output,
        world_sizes=(1, 2, 3) if case.deterministic else (1, 2),
        arguments=case.arguments,
        batch_size=str(dict(case.options).get("batch_size", "global")),  # type: ignore[arg-type]
        tolerance=1e-5 if case.deterministic else None,
        workdir_seed=case.folder,
        length_may_differ=case.length_may_differ,
        timeout_seconds=90,
    )
    assert report.passed, format_report(report)
