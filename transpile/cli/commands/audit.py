"""The command ``disttranspile audit``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from typing import Any

import click

from transpile.cli import codes
from transpile.cli.framework_option import framework_names
from transpile.cli.inputs import Input, InputError, read
from transpile.cli.kept import Kept, kept_by
from transpile.cli.kept_results import audited, recalled_audit
from transpile.cli.parallel import each_of
from transpile.cli.project.accepted import Accepted, accepted_of, lines_of
from transpile.cli.project.options import complete_files, findings_options
from transpile.cli.project.settings import ProjectSettings, leaves_out, of_run
from transpile.cli.tasks import expand, gate_of_frameworks
from transpile.cli.terminal import Progress, put, tell
from transpile.configuration.settings import Settings
from transpile.finding import Finding, Level
from transpile.options import Options
from transpile.records import replace
from transpile.report import FORMATS, FileReport
from transpile.result import Outcome

_STATUS = {Level.NOTE: 0, Level.WARNING: 1, Level.ERROR: 3}
_FAILED = 2
# So many files are those of a hook rather than scripts that a person names.
_MANY = 5
#: What is not worth a line of its own for a script that was found in a folder.
_SILENT = frozenset({"AU001"})
#: The script is none that was followed to its end.
_NOT_FOLLOWED = frozenset({"AU001", "AU002"})
_EPILOG = """\b
Exit status:
  0  nothing found, or the script is not distributed
  1  there is a warning
  2  wrong usage, or an input that cannot be read or parsed
  3  there is an error: the script may hang, or its processes diverge
"""


@click.command(
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", shell_complete=complete_files)
@click.option(
    "--framework",
    type=click.Choice(framework_names()),
    help="What the script trains with.  [default: auto]",
)
@click.option(
    "--format",
    "--output-format",
    "output_format",
    type=click.Choice(FORMATS),
    help="Form of the findings.  [default: text]",
)
@click.option("--fix", is_flag=True, help="Make the changes that are mechanical, and look again.")
@findings_options
def command(files: tuple[str, ...], framework: str | None, fix: bool, **choices: Any) -> int:
    """Look for hangs and divergence in distributed training scripts.

    FILE is a script, converted or distributed by hand, a folder that is searched for such scripts,
    or - for standard input. It is followed as several processes of one job; no code of it runs.
    Modules of the project that it imports are looked at with it.
    """
    settings = ProjectSettings.of_command(choices).of_first(files[0])
    output_format = of_run(choices, "output-format", settings)
    quiet = of_run(choices, "quiet", settings)
    reports = _look(files, framework, output_format, choices, is_last=not fix)
    if fix:
        from transpile.cli.fixing import fix_all

        tell(fix_all(finding for report in reports for finding in report.findings))
        reports = _look(files, framework, output_format, choices, is_last=True)
    if quiet:
        reports = [replace(one, findings=_without_notes(one)) for one in reports]
    put(_rendered(reports, output_format, quiet=quiet).encode())
    return max((_status(report) for report in reports), default=0)


def _rendered(reports: list[FileReport], output_format: str, *, quiet: bool) -> str:
    """What is told: all of it, or, of findings for people, these alone."""
    if output_format == "text":
        from transpile.report.text import render, render_findings

        if quiet:
            return "".join(render_findings(one.findings) for one in reports)
        return render(reports, none="no script found that trains with several processes")
    from importlib import import_module

    from transpile.cli.project.manual import description

    text: str = import_module(f"transpile.report.{output_format}").render(reports, description)
    return text


def _look(
    files: tuple[str, ...],
    framework: str | None,
    output_format: str,
    choices: dict[str, Any],
    *,
    is_last: bool,
) -> list[FileReport]:
    """Audit everything that is asked for.

    Args:
        files: as the command line has them.
        framework: what the scripts train with; None for what is configured.
        output_format: the form of the findings.
        choices: the options about findings.
        is_last: it is not done again, so that what is accepted may be written.
    """
    reports: list[FileReport] = []
    seen: set[Finding] = set()
    project = ProjectSettings.of_command(choices)
    first = project.of_first(files[0])
    accepted = accepted_of(choices, first)
    asked: list[tuple[Input, Options]] = []
    for script in _scripts(files, choices, project):
        settings = project.of(script.path)
        if not leaves_out(choices, script, settings):
            asked.append((script, _options(framework, settings)))
    kept = kept_by(choices, first.cache_folder)
    known = [_known(kept, one) for one in asked]
    missing = [one for one, found in zip(asked, known, strict=True) if found is None]
    answers = each_of(partial(_audit, kept), missing, jobs=of_run(choices, "jobs", first))
    progress = Progress(len(asked), "auditing")
    try:
        for (script, _), recalled in zip(asked, known, strict=True):
            report = recalled or next(answers)
            if report.outcome is not None:
                if output_format != "text":
                    report = replace(report, lines=lines_of(report.findings, {}))
                report = _sort(report, project.of(script.path), accepted)
            found = [f for f in report.findings if script.path in files or f not in seen]
            seen.update(found)
            if not script.from_folder or all(f.code not in _SILENT for f in report.findings):
                reports.append(replace(report, findings=tuple(found)))
            progress.step()
    finally:
        progress.clear()
    # At their end, the processes that looked have ended, too.
    for _ in answers:
        pass
    if missing:
        kept.tidy()
    if is_last:
        tell(accepted.finish())
    return accepted.with_deleted(reports, ("AU",))


def _options(framework: str | None, settings: Settings) -> Options:
    """What an audit knows of a script: what it trains with, and in-house code that it calls."""
    said = settings.options.get("framework")
    return Options(
        framework=framework or (said.value if said is not None else "auto"),
        roles=tuple(sorted(settings.roles.items())),
    )


def _sort(report: FileReport, settings: Settings, accepted: Accepted) -> FileReport:
    """Put apart what the project has accepted."""
    complete = () if any(one.code in _NOT_FOLLOWED for one in report.findings) else ("AU",)
    return accepted.sort(report, settings, {}, errors=True, complete=complete)


def _without_notes(report: FileReport) -> tuple[Finding, ...]:
    return tuple(finding for finding in report.findings if finding.level > Level.NOTE)


def _scripts(
    files: tuple[str, ...], choices: dict[str, Any], project: ProjectSettings
) -> Iterator[Input]:
    """Yield the inputs, and of folders the scripts below them that may train.

    Where many files are named, as by a hook, those that name no framework are not parsed.
    """
    gate = gate_of_frameworks()
    for name in files:
        if os.path.isdir(name):
            respects = of_run(choices, "respect-gitignore", project.of_first(name))
            yield from expand(Input(name), gate, respect_gitignore=respects)
        elif len(files) < _MANY or not os.path.isfile(name) or gate.lets_through(name):
            yield Input(name)


def _known(kept: Kept, each: tuple[Input, Options]) -> FileReport | None:
    """What an earlier run has said of a script; None where it has to be audited anew."""
    script, options = each
    if not kept.folder:
        return None
    try:
        found = recalled_audit(kept, script, read(script), options)
    except InputError:
        return None
    return FileReport(script.name, Outcome.AUDITED, found) if found is not None else None


def _audit(kept: Kept, each: tuple[Input, Options]) -> FileReport:
    script, options = each
    try:
        content = read(script)
    except InputError as error:
        return _failed(script, codes.UNREADABLE, str(error))
    from transpile.cli.notebooks import place_of
    from transpile.text.decoding import SourceError

    try:
        findings = audited(kept, script, content, options)
    except SourceError as error:
        message = f"{place_of(script, content, error.line)}{error.message}"
        failed = _failed(script, codes.UNPARSABLE, message)
        if content.notebook is not None:
            return failed
        place = replace(failed.findings[0], line=error.line, column=error.column)
        return replace(failed, findings=(place,))
    return FileReport(script.name, Outcome.AUDITED, findings)


def _failed(script: Input, code: str, message: str) -> FileReport:
    finding = Finding(code, Level.ERROR, script.name, 0, 0, message)
    return FileReport(script.name, None, (finding,))


def _status(report: FileReport) -> int:
    if report.outcome is None:
        return _FAILED
    return _STATUS[max((finding.level for finding in report.findings), default=Level.NOTE)]
