"""What the tool found, written for a person or for another program.

Every format is a module of this package with a function ``render(files: Sequence[FileReport],
describe: Describe) -> str``; the command looks it up by its name. Nothing in here reads or writes
files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from transpile.finding import Finding, Level
from transpile.records import dataclass, field
from transpile.result import Decision, Outcome

FORMATS = ("text", "json", "sarif", "github", "gitlab", "markdown")


@dataclass(frozen=True)
class FileReport:
    """What became of one input.

    Args:
        path: the input as the user named it.
        outcome: what the conversion came to; None where the input could not be read or the output
            could not be written.
        findings: every remark on it, in the order of the places.
        accepted: the remarks that the project has accepted, which are told nowhere else.
        plan: what the script is made of, as ``--plan`` has it.
        decisions: what each rule decided.
        target: where the output goes; empty where it goes to no file.
        lines: what stands in the lines of the findings, by path and line.
    """

    path: str
    outcome: Outcome | None
    findings: tuple[Finding, ...] = ()
    accepted: tuple[Finding, ...] = ()
    plan: Mapping[str, Any] = field(default_factory=dict)
    decisions: tuple[Decision, ...] = ()
    target: str = ""
    lines: Mapping[tuple[str, int], str] = field(default_factory=dict)


@dataclass(frozen=True)
class Description:
    """What a code is about.

    Args:
        title: one line.
        text: the manual, as plain text.
        rule: the name of its rule; empty for the tool itself.
    """

    title: str
    text: str = ""
    rule: str = ""


Describe = Callable[[str], "Description | None"]


def nothing_known(code: str) -> Description | None:
    """Where there is no manual."""
    return None


def count_levels(files: Iterable[FileReport]) -> dict[Level, int]:
    """Return how many findings of each level there are, the gravest first."""
    counts = dict.fromkeys(sorted(Level, reverse=True), 0)
    for file in files:
        for finding in file.findings:
            counts[finding.level] += 1
    return counts
