"""An audit's report as plain text."""

from __future__ import annotations

import textwrap

from transpile.verify.report import AuditReport, Status

_SHOWN_LINES = 6
_SHOWN_CHARACTERS = 400
_MARKS = {Status.PASSED: "ok", Status.FAILED: "FAIL", Status.NOT_APPLICABLE: "-"}


def format_report(report: AuditReport, *, width: int = 100) -> str:
    """The report as a table: one block per run, one line per check.

    Args:
        report: what an audit found.
        width: columns that long details are folded to.

    Returns:
        Text that ends with a newline.
    """
    names = [len(check.name) for run in report.runs for check in run.checks]
    column = max(names, default=0)
    indent = " " * (column + 10)
    lines: list[str] = [report.extent, ""] if report.extent else []
    for run in report.runs:
        lines.append(f"{run.label} ({run.seconds:.1f} s)")
        for check in run.checks:
            first = f"  {_MARKS[check.status]:<4}  {check.name:<{column}}  "
            for position, paragraph in enumerate(_paragraphs(check.detail)):
                lead = first if position == 0 else indent
                folded = textwrap.wrap(
                    paragraph,
                    width=max(width, column + 40),
                    initial_indent=lead,
                    subsequent_indent=indent,
                    break_long_words=False,
                )
                lines.extend(line.rstrip() for line in folded or [lead])
        lines.append("")
    failures = sum(check.failed for run in report.runs for check in run.checks)
    lines.append("passed" if report.passed else f"failed: {', '.join(report.failed_names)}")
    if failures > len(report.failed_names):
        lines[-1] += f" ({failures} in all)"
    return "\n".join(lines) + "\n"


def _paragraphs(detail: str) -> list[str]:
    """The first lines of a detail; what scripts print may hold anything, so it is escaped."""
    lines = [_escaped(line) for line in detail.split("\n")]
    if len(lines) > _SHOWN_LINES:
        lines = [*lines[:_SHOWN_LINES], f"... and {len(lines) - _SHOWN_LINES} more"]
    return lines


def _escaped(line: str) -> str:
    text = "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in line
    )
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "..."
