"""Findings as SARIF 2.1.0, which code scanning services and editors read."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from transpile import __version__
from transpile.finding import Finding
from transpile.report import FileReport
from transpile.report.escape import without_surrogates

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def render(files: Sequence[FileReport]) -> str:
    """Return one SARIF log with one run."""
    findings = [finding for file in files for finding in file.findings]
    codes = sorted({finding.code for finding in findings})
    run = {
        "tool": {
            "driver": {
                "name": "disttranspile",
                "version": __version__,
                "rules": [{"id": code} for code in codes],
            }
        },
        "columnKind": "unicodeCodePoints",
        "artifacts": [{"location": _location(file.path)} for file in files],
        "results": [_result(finding, codes) for finding in findings],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _result(finding: Finding, codes: Sequence[str]) -> dict[str, Any]:
    text = finding.message + (f"\n{finding.advice}" if finding.advice else "")
    place: dict[str, Any] = {"artifactLocation": _location(finding.path)}
    if finding.line:
        place["region"] = {"startLine": finding.line, "startColumn": max(finding.column, 1)}
    return {
        "ruleId": finding.code,
        "ruleIndex": codes.index(finding.code),
        "level": finding.level.label,
        "message": {"text": without_surrogates(text)},
        "locations": [{"physicalLocation": place}],
    }


def _location(path: str) -> dict[str, str]:
    uri = quote(os.fsencode(path.replace(os.sep, "/")))
    return {"uri": f"file://{uri}" if os.path.isabs(path) else uri}
