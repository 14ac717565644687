"""The output of a conversion, read by the audit as several processes before anything is written."""

from __future__ import annotations

from transpile import catalog
from transpile.facts.state import TooComplex
from transpile.finding import Finding, Level
from transpile.options import Options
from transpile.project import Project
from transpile.records import replace
from transpile.result import Outcome, Result
from transpile.text.rereading import reread
from transpile.ways import Attempt, with_finding


def checked(attempt: Attempt, project: Project, options: Options) -> Attempt:
    """An attempt, refused where the audit finds an error in its output."""
    result = attempt.result
    if result.outcome is not Outcome.CONVERTED or attempt.refused:
        return attempt
    try:
        errors = errors_of(result, project, options)
    except (TooComplex, RecursionError):
        return Attempt(with_finding(result, unaudited(project)), attempt.doubts)
    if not errors:
        return attempt
    findings = tuple(sorted({*result.findings, *errors}, key=lambda each: each.sort_key))
    doubts = (*attempt.doubts, *errors)
    if options.allow_partial:
        return Attempt(replace(result, findings=findings), doubts)
    read = project.entry.source
    refusal = Result(Outcome.REFUSED, read.text, read.data, result.plan, result.decisions, findings)
    return Attempt(refusal, doubts)


def errors_of(result: Result, project: Project, options: Options) -> list[Finding]:
    """What the audit calls an error in an output.

    Raises:
        TooComplex, RecursionError: the audit cannot follow the output.
    """
    framework = result.plan["framework"]
    if catalog.audit_vocabulary(framework) is None:
        return []
    from transpile.auditing import audited

    instead = {file.path: file.data for file in result.modules if file.is_changed}
    output = project.become(reread(project.entry.source, result.data), instead)
    found = audited(output, framework, options, errors_only=True)
    return [error(each) for each in found if each.level is Level.ERROR]


def unaudited(project: Project) -> Finding:
    """The note on an output that the audit cannot follow, though the conversion could."""
    return Finding(
        "DT018",
        Level.NOTE,
        project.entry.source.path,
        0,
        0,
        "the output is too complex for the audit, which was left out",
        "run original and output with `disttranspile verify`",
    )


def error(found: Finding) -> Finding:
    """An error of the audit as one of the conversion; its place is one of the output."""
    where = f"in line {found.line} of the output" if found.line else "of the output"
    return Finding(
        "DT018",
        Level.ERROR,
        found.path,
        0,
        0,
        f"the output would not pass the audit: {found.code} {where}: {found.message}",
        "convert it by hand, or write it with --allow-partial and mend that place",
    )
