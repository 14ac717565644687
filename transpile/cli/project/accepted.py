"""What the project has accepted, as the command finds it: comments, baseline, chosen codes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from transpile.cli.project.settings import check_codes
from transpile.configuration.settings import Settings
from transpile.finding import Finding, Level
from transpile.reading import read_regular
from transpile.records import dataclass, field, replace
from transpile.report import FileReport
from transpile.result import Outcome

if TYPE_CHECKING:
    from transpile.acceptance.baseline import Baseline, Known

_MARK = b"disttranspile:"


@dataclass
class Accepted:
    """What one run accepts of what it finds.

    Args:
        select: the codes that count, as the command line says; empty for what is configured.
        ignore: those that do not, as the command line says.
        path: the file of the baseline; None where there is none.
        baseline: what it holds.
        rewrite: it is written anew at the end.
        settings: of the run.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    path: Path | None = None
    baseline: Baseline | None = None
    rewrite: bool = False
    settings: Settings = Settings()
    _seen: list[Known] = field(default_factory=list)

    def sort(
        self,
        report: FileReport,
        settings: Settings,
        contents: Mapping[str, bytes],
        *,
        errors: bool,
        complete: Iterable[str],
    ) -> FileReport:
        """Return a report in which what is accepted stands apart.

        Args:
            report: of one script.
            settings: of that script.
            contents: what files held when they were looked at.
            errors: errors can be accepted, too.
            complete: the beginnings of the codes that were looked for in full.
        """
        select = self.select or settings.select
        ignore = (*settings.ignore, *self.ignore)
        paths = {report.path, *(finding.path for finding in report.findings)}
        held = {path: contents.get(path) or _content(path) for path in paths}
        marked = any(_MARK in data for data in held.values())
        if not (marked or select or ignore or self.baseline is not None or self.rewrite):
            return report
        from transpile.acceptance.accept import Acceptance
        from transpile.acceptance.baseline import belongs

        acceptance = Acceptance(
            lambda path: held.get(path, b""),
            self._place,
            select,
            ignore,
            None if self.rewrite else self.baseline,
        )
        found = acceptance.sort(report.path, report.findings, errors=errors, complete=complete)
        if self.rewrite:
            written = tuple(one for one in found.told if belongs(one))
            self._seen += map(acceptance.known, written)
            if errors:
                told = tuple(one for one in found.told if one not in written)
                return replace(report, findings=told, accepted=(*found.accepted, *written))
        return replace(report, findings=found.told, accepted=found.accepted)

    def with_deleted(
        self, reports: Sequence[FileReport], complete: Iterable[str]
    ) -> list[FileReport]:
        """Return the reports of a run with what the baseline knows of files that are gone.

        Args:
            reports: of all scripts.
            complete: the beginnings of the codes that were looked for in full.
        """
        found = tuple(self._of_deleted(complete))
        if not found:
            return list(reports)
        if not reports:
            return [FileReport(found[0].path, Outcome.UNCHANGED, found)]
        *others, last = reports
        return [*others, replace(last, findings=(*last.findings, *found))]

    def _of_deleted(self, complete: Iterable[str]) -> Iterator[Finding]:
        if self.baseline is None or self.path is None:
            return
        from transpile.acceptance.codes import counts
        from transpile.acceptance.unused import UNUSED_ENTRY

        for name in self.baseline.files(complete):
            if os.path.lexists(self.path.parent / name):
                continue
            message = f"the baseline has findings of {name}, which is no longer there"
            advice = "write the baseline anew with --write-baseline"
            place = os.path.relpath(self.path)
            found = Finding(UNUSED_ENTRY, Level.WARNING, place, 0, 0, message, advice)
            if counts(found, (), (*self.settings.ignore, *self.ignore)):
                yield found

    def finish(self) -> str:
        """Write the baseline anew, where that is asked for, and return what there is to say."""
        if not self.rewrite or self.path is None:
            return ""
        from transpile.acceptance.baseline import render
        from transpile.output.together import write_atomically

        data = render(self._seen).encode()
        try:
            write_atomically(os.fspath(self.path), data, new_mode=0o666)
        except OSError as error:
            raise click.UsageError(f"{self.path}: cannot be written: {error.strerror}.") from error
        number = len(self._seen)
        return f"{self.path}: {number} {'finding' if number == 1 else 'findings'}\n"

    def _place(self, path: str) -> str:
        folder = self.path.parent if self.path is not None else Path()
        return os.path.relpath(path, folder).replace(os.sep, "/")


def accepted_of(choices: Mapping[str, Any], settings: Settings) -> Accepted:
    """What a command line accepts.

    Args:
        choices: on the command line.
        settings: of the first script, which tells of the baseline where the command line does not.

    Raises:
        click.UsageError: there is no such code, or the baseline cannot be read.
    """
    select, ignore = _codes(choices["select"]), _codes(choices["ignore"])
    check_codes((*select, *ignore))
    chosen = choices["baseline"]
    path = Path(chosen) if chosen is not None else None
    if path is None and settings.file is not None and "baseline" in settings.file.table:
        path = settings.file.folder / settings.file.table["baseline"]
    if choices["write_baseline"] and path is None:
        raise click.UsageError(
            "--write-baseline needs --baseline FILE, or a baseline in the configuration."
        )
    baseline = None
    if path is not None and not choices["write_baseline"]:
        from transpile.acceptance.baseline import BaselineError, parse

        try:
            baseline = parse(read_regular(path).decode())
        except OSError as error:
            raise click.UsageError(f"{path}: cannot be read: {error.strerror}.") from error
        except (BaselineError, UnicodeDecodeError) as error:
            raise click.UsageError(f"{path}: {error}.") from error
    return Accepted(select, ignore, path, baseline, choices["write_baseline"], settings)


def lines_of(
    findings: Iterable[Finding], contents: Mapping[str, bytes]
) -> dict[tuple[str, int], str]:
    """What stands in the lines of findings.

    Args:
        findings: the findings.
        contents: what files held when they were looked at.
    """
    held: dict[str, list[bytes]] = {}
    lines = {}
    for finding in findings:
        if finding.path not in held:
            data = contents.get(finding.path) or _content(finding.path)
            held[finding.path] = data.splitlines()
        if 0 < finding.line <= len(held[finding.path]):
            text = held[finding.path][finding.line - 1].decode("utf-8", "backslashreplace")
            lines[finding.path, finding.line] = text
    return lines


def _codes(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(code.strip() for value in values for code in value.split(",") if code.strip())


def _content(path: str) -> bytes:
    try:
        return read_regular(Path(path))
    except (OSError, ValueError):
        return b""
