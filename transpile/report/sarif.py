"""Findings as SARIF 2.1.0, which code scanning services and editors read."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from transpile import __version__
from transpile.finding import Finding, Fix, Level
from transpile.report import Describe, Description, FileReport, nothing_known
from transpile.report.escape import without_surrogates
from transpile.report.fingerprints import fingerprints
from transpile.report.manual import as_markdown

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def render(files: Sequence[FileReport], describe: Describe = nothing_known) -> str:
    """Return one SARIF log with one run."""
    findings = list(fingerprints(files))
    codes = sorted({finding.code for finding, _ in findings})
    levels = {
        code: max(finding.level for finding, _ in findings if finding.code == code)
        for code in codes
    }
    run = {
        "tool": {
            "driver": {
                "name": "disttranspile",
                "version": __version__,
                "semanticVersion": __version__,
                "rules": [_rule(code, levels[code], describe(code)) for code in codes],
            }
        },
        "columnKind": "unicodeCodePoints",
        "artifacts": [{"location": _location(file.path)} for file in files],
        "results": [_result(finding, mark, codes) for finding, mark in findings],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(code: str, level: Level, description: Description | None) -> dict[str, Any]:
    rule: dict[str, Any] = {"id": code, "defaultConfiguration": {"level": level.label}}
    if description is None:
        return rule
    rule |= {
        "shortDescription": {"text": _sentence(description.title)},
        "fullDescription": {"text": _sentence(_what(description.text) or description.title)},
    }
    if description.rule:
        words = description.rule.split("-")
        rule |= {"name": "".join(word.capitalize() for word in words)}
        rule |= {"properties": {"tags": [description.rule]}}
    if description.text:
        rule["help"] = {"text": description.text, "markdown": as_markdown(description.text)}
    return rule


def _what(text: str) -> str:
    """The first paragraph below the first heading, which says what a rule does."""
    paragraphs = [part for part in text.split("\n\n") if part.strip()]
    for part in paragraphs:
        heading, _, rest = part.partition("\n")
        if heading.strip().rstrip(":") == "What" and rest.strip():
            return " ".join(rest.split())
    return " ".join(paragraphs[0].split()) if paragraphs else ""


def _sentence(text: str) -> str:
    text = without_surrogates(text).strip()
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _result(finding: Finding, fingerprint: str, codes: Sequence[str]) -> dict[str, Any]:
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
        "partialFingerprints": {"disttranspile/v1": fingerprint},
        **({"fixes": [_fix(finding.path, finding.fix)]} if finding.fix is not None else {}),
    }


def _fix(path: str, fix: Fix) -> dict[str, Any]:
    region = {
        "startLine": fix.line,
        "startColumn": fix.column,
        "endLine": fix.end_line,
        "endColumn": fix.end_column,
    }
    replacement = {
        "deletedRegion": region,
        "insertedContent": {"text": without_surrogates(fix.text)},
    }
    return {
        "description": {"text": fix.what},
        "artifactChanges": [
            {"artifactLocation": _location(path), "replacements": [replacement]},
        ],
    }


def _location(path: str) -> dict[str, str]:
    uri = quote(os.fsencode(path.replace(os.sep, "/")))
    return {"uri": f"file://{uri}" if os.path.isabs(path) else uri}
