"""Findings for a terminal: ``path:line:col: CODE message``, advice indented under it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from transpile.finding import Finding, Level
from transpile.report import Describe, FileReport, count_levels, nothing_known
from transpile.report.escape import log_line
from transpile.result import Outcome

_COLOURS = {Level.ERROR: "31", Level.WARNING: "33", Level.NOTE: "36"}
_NONE = "no training script found"
#: From so many scripts on a table says what became of each.
_MANY = 5
_OUTCOMES: dict[Outcome | None, str] = {
    Outcome.CONVERTED: "converted",
    Outcome.UNCHANGED: "unchanged",
    Outcome.REFUSED: "refused",
    Outcome.AUDITED: "audited",
    None: "failed",
}


def render(
    files: Sequence[FileReport], describe: Describe = nothing_known, *, none: str = _NONE
) -> str:
    """Return all findings and the summary line, which says `none` where there is no file."""
    findings = "".join(render_findings(file.findings) for file in files)
    return f"{findings}{table(files)}{summary(files, none=none)}\n"


def render_findings(findings: Iterable[Finding], *, colour: bool = False) -> str:
    """Return a line for each finding, and its advice.

    Args:
        findings: in the order in which they shall appear.
        colour: mark code and level with the colours of a terminal.
    """
    return "".join(_finding(finding, colour) for finding in findings)


def table(files: Sequence[FileReport], *, preview: bool = False) -> str:
    """Return what became of each script, one below the other; nothing where there are few.

    Args:
        files: all of the run.
        preview: nothing was written, so what is converted would be.
    """
    if len(files) < _MANY:
        return ""
    levels = sorted(Level, reverse=True)
    rows: list[tuple[str, ...]] = [("", "", *(f"{level.label}s" for level in levels))]
    for file in files:
        counts = count_levels([file])
        shown = [str(counts[level] or "") for level in levels]
        rows.append((log_line(file.path), _outcome(file.outcome, preview), *shown))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for name, outcome, *numbers in rows:
        cells = [name.ljust(widths[0]), outcome.ljust(widths[1])]
        cells += (text.rjust(width) for text, width in zip(numbers, widths[2:], strict=True))
        lines.append("  ".join(cells).rstrip())
    return "\n" + "\n".join(lines) + "\n\n"


def summary(files: Sequence[FileReport], *, preview: bool = False, none: str = _NONE) -> str:
    """Return one line that counts outcomes and findings.

    Args:
        files: all of the run.
        preview: nothing was written, so what is converted would be.
        none: what is said where there is no file.
    """
    outcomes = []
    for outcome in _OUTCOMES:
        number = sum(file.outcome is outcome for file in files)
        if number:
            outcomes.append(f"{number} {_outcome(outcome, preview)}")
    levels = [
        f"{number} {level.label}{'' if number == 1 else 's'}"
        for level, number in count_levels(files).items()
        if number
    ]
    accepted = sum(len(file.accepted) for file in files)
    levels += [f"{accepted} accepted"] if accepted else []
    return (", ".join(outcomes) or none) + (f" ({', '.join(levels)})" if levels else "")


def _outcome(outcome: Outcome | None, preview: bool) -> str:
    would = "would be " if preview and outcome is Outcome.CONVERTED else ""
    return f"{would}{_OUTCOMES[outcome]}"


def _finding(finding: Finding, colour: bool) -> str:
    place = f"{finding.path}:{max(finding.line, 1)}:{max(finding.column, 1)}:"
    code, level = finding.code, f"[{finding.level.label}]"
    if colour:
        code = f"\x1b[1;{_COLOURS[finding.level]}m{code}\x1b[0m"
        level = f"\x1b[{_COLOURS[finding.level]}m{level}\x1b[0m"
    lines = [f"{log_line(place)} {code} {log_line(finding.message)} {level}"]
    lines += (f"    {log_line(line)}" for line in finding.advice.splitlines())
    return "".join(f"{line}\n" for line in lines)
