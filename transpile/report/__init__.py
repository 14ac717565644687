"""What the tool found, written for a person or for another program.

Every format is a module of this package with a function ``render(files: Sequence[FileReport]) ->
str``; the command looks it up by its name. Nothing in here reads or writes files.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from transpile.finding import Finding, Level
from transpile.result import Outcome

FORMATS = ("text", "json", "sarif", "github", "markdown")


@dataclass(frozen=True)
class FileReport:
    """What became of one input.

    Args:
        path: the input as the user named it.
        outcome: what the conversion came to; None where the input could not be read or the output
            could not be written.
        findings: every remark on it, in the order of the places.
        accepted: the remarks that the project has accepted, which are told nowhere else.
    """

    path: str
    outcome: Outcome | None
    findings: tuple[Finding, ...] = ()
    accepted: tuple[Finding, ...] = ()


def count_levels(files: Iterable[FileReport]) -> dict[Level, int]:
    """Return how many findings of each level there are, the gravest first."""
    counts = dict.fromkeys(sorted(Level, reverse=True), 0)
    for file in files:
        for finding in file.findings:
            counts[finding.level] += 1
    return counts
