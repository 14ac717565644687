"""Findings as Markdown, for a comment on a change or the summary of a CI run."""

from __future__ import annotations

from collections.abc import Sequence

from transpile.finding import Finding
from transpile.report import FileReport
from transpile.report.escape import markdown


def render(files: Sequence[FileReport]) -> str:
    """Return a heading and a table for each input."""
    return "\n".join(_file(file) for file in files)


def _file(file: FileReport) -> str:
    outcome = file.outcome.value if file.outcome else "failed"
    heading = f"### {markdown(file.path)}: {outcome}\n"
    if not file.findings:
        return heading
    rows = "".join(_row(finding) for finding in file.findings)
    return f"{heading}\n| Level | Line | Code | Finding |\n|---|---|---|---|\n{rows}"


def _row(finding: Finding) -> str:
    line = str(finding.line) if finding.line else ""
    message = markdown(finding.message)
    if finding.advice:
        message += f"<br>{markdown(finding.advice)}"
    return f"| {finding.level.label} | {line} | {markdown(finding.code)} | {message} |\n"
