"""An audit's report as plain data that JSON can hold."""

from __future__ import annotations

from typing import Any

from transpile.verify.report import AuditReport


def data_of(report: AuditReport) -> dict[str, Any]:
    """The verdicts of all runs.

    Args:
        report: what an audit found.
    """
    return {
        "format": 1,
        "passed": report.passed,
        "steps": report.steps or None,
        "runs": [
            {
                "label": run.label,
                "world_size": run.world_size,
                "seconds": round(run.seconds, 3),
                "passed": run.passed,
                "checks": [
                    {"name": check.name, "status": check.status.value, "detail": check.detail}
                    for check in run.checks
                ],
            }
            for run in report.runs
        ],
    }
