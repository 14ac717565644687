"""Findings as workflow commands, which GitHub shows beside the changed lines."""

from __future__ import annotations

from collections.abc import Sequence

from transpile.finding import Finding, Level
from transpile.report import Describe, FileReport, nothing_known
from transpile.report.escape import github_data, github_property

_COMMANDS = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTE: "notice"}


def render(files: Sequence[FileReport], describe: Describe = nothing_known) -> str:
    """Return one workflow command for each finding."""
    return "".join(_command(finding) for file in files for finding in file.findings)


def _command(finding: Finding) -> str:
    properties = {"file": finding.path}
    if finding.line:
        properties |= {"line": str(finding.line), "col": str(max(finding.column, 1))}
    properties["title"] = finding.code
    settings = ",".join(f"{name}={github_property(value)}" for name, value in properties.items())
    text = finding.message + (f"\n{finding.advice}" if finding.advice else "")
    return f"::{_COMMANDS[finding.level]} {settings}::{github_data(text)}\n"
