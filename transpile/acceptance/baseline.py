"""Findings that a project had when it began to count them, by what stands in their lines."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from transpile.acceptance.codes import named
from transpile.finding import Finding, Level

FORMAT = 1


class BaselineError(Exception):
    """A file that is no baseline; the message is one line."""


@dataclass(frozen=True, order=True)
class Known:
    """A finding as a baseline knows it, wherever in the file its line has moved to.

    Args:
        path: the file, from the folder of the baseline, with slashes.
        code: that of the finding.
        text: the line, without what stands around it.
    """

    path: str
    code: str
    text: str


@dataclass
class Baseline:
    """The findings that are known, each as often as it may appear."""

    entries: Counter[Known] = field(default_factory=Counter)

    def take(self, known: Known) -> bool:
        """Whether a finding is known; it is then known one time less."""
        if self.entries[known] < 1:
            return False
        self.entries[known] -= 1
        return True

    def left(self, path: str) -> list[Known]:
        """What has not been found in a file."""
        return sorted(known for known in (+self.entries) if known.path == path)

    def files(self, codes: Iterable[str]) -> list[str]:
        """The files that some of the codes, or beginnings of codes, are known of."""
        wanted = tuple(codes)
        return sorted({known.path for known in (+self.entries) if named(known.code, wanted)})


def parse(text: str) -> Baseline:
    """Read a baseline.

    Raises:
        BaselineError: the text is none.
    """
    try:
        document: Any = json.loads(text)
        if document["format"] != FORMAT:
            raise BaselineError(f"has the format {document['format']}, not {FORMAT}")
        entries = Counter(
            {
                Known(str(one["path"]), str(one["code"]), str(one["text"])): int(one["count"])
                for one in document["findings"]
            }
        )
    except (ValueError, KeyError, TypeError) as error:
        raise BaselineError("is no baseline that --write-baseline wrote") from error
    return Baseline(entries)


def render(known: Iterable[Known]) -> str:
    """Return a baseline as text, in an order that does not change."""
    findings = [
        {"path": each.path, "code": each.code, "text": each.text, "count": count}
        for each, count in sorted(Counter(known).items())
    ]
    return json.dumps({"format": FORMAT, "findings": findings}, indent=1) + "\n"


def belongs(finding: Finding) -> bool:
    """Whether a finding is one that a baseline holds: a note stops nobody."""
    return finding.level > Level.NOTE and not finding.code.startswith("DT9")
