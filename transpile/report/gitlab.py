"""Findings as a code quality report of GitLab, which shows them in merge requests."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence

from transpile.finding import Level
from transpile.report import Describe, FileReport, nothing_known
from transpile.report.escape import without_surrogates
from transpile.report.fingerprints import fingerprints

_SEVERITIES = {Level.ERROR: "critical", Level.WARNING: "minor", Level.NOTE: "info"}


def render(files: Sequence[FileReport], describe: Describe = nothing_known) -> str:
    """Return a JSON list with one issue for each finding."""
    issues = [
        {
            "description": without_surrogates(
                finding.message + (f" ({finding.advice})" if finding.advice else "")
            ),
            "check_name": finding.code,
            "fingerprint": fingerprint,
            "severity": _SEVERITIES[finding.level],
            "location": {
                "path": without_surrogates(finding.path.replace(os.sep, "/")).removeprefix("./"),
                "lines": {"begin": max(finding.line, 1)},
            },
        }
        for finding, fingerprint in fingerprints(files)
    ]
    return json.dumps(issues, indent=2) + "\n"
