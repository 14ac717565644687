"""Findings as JSON, for scripts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from transpile import __version__
from transpile.finding import Finding, Fix
from transpile.report import Describe, FileReport, count_levels, nothing_known
from transpile.report.escape import without_surrogates

FORMAT_VERSION = 1


def render(files: Sequence[FileReport], describe: Describe = nothing_known) -> str:
    """Return one JSON object: ``format``, ``version``, ``files`` and the ``counts`` by level."""
    document = {
        "format": FORMAT_VERSION,
        "version": __version__,
        "files": [_file(file) for file in files],
        "counts": {level.label: number for level, number in count_levels(files).items()},
    }
    return json.dumps(document, indent=2) + "\n"


def _file(file: FileReport) -> dict[str, Any]:
    return {
        "path": without_surrogates(file.path),
        "outcome": file.outcome.value if file.outcome else "failed",
        "findings": [_finding(finding) for finding in file.findings],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "level": finding.level.label,
        "path": without_surrogates(finding.path),
        "line": finding.line,
        "column": finding.column,
        "message": without_surrogates(finding.message),
        "advice": without_surrogates(finding.advice),
        "fix": None if finding.fix is None else _fix(finding.fix),
    }


def _fix(fix: Fix) -> dict[str, Any]:
    return {
        "what": fix.what,
        "line": fix.line,
        "column": fix.column,
        "end_line": fix.end_line,
        "end_column": fix.end_column,
        "text": without_surrogates(fix.text),
    }
