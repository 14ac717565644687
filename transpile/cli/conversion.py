"""Converting one input after the other, each whole or not at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from transpile.cli import codes
from transpile.cli.delivery import Delivery, DeliveryError
from transpile.cli.inputs import Content, Input, InputError, read
from transpile.cli.interrupted import InterruptedRun, check_whole
from transpile.cli.job import Job, Mode, Task
from transpile.cli.kept import Kept
from transpile.cli.kept_results import converted, recalled
from transpile.cli.parallel import each_of
from transpile.cli.project.accepted import lines_of
from transpile.cli.terminal import Progress, put, tell, wants_colour
from transpile.finding import Finding, Level
from transpile.options import Options
from transpile.records import dataclass, replace
from transpile.report import FileReport
from transpile.report.escape import log_line
from transpile.result import Outcome, Result

_DONE = 0
_LOOK = 1
_FAILED = 2
_REFUSED = 3
_LONGEST_ERROR = 200
#: The beginnings of the codes that a conversion looks for in full.
LOOKED_FOR = ("DT0", "FL", "MX", "PD", "PT")

# Why a script that trains is left as it is; without them a folder would seem to hold none.
_SAID_IN_FOLDERS = (codes.CONVERTED_BESIDE, codes.LEFT_ALONE)


@dataclass(frozen=True)
class _Converted:
    """A script that could be read, and what the engine made of it."""

    content: Content
    result: Result


def run(job: Job) -> int:
    """Convert everything, report everything, and return the exit status."""
    files = []
    delivery = Delivery(job)
    progress = Progress(len(job.tasks), "converting")
    try:
        for task, answer in zip(job.tasks, _convert_all(job), strict=True):
            progress.clear()
            file = _sort(job, task, answer, delivery)
            if not (task.script.from_folder and _has_nothing_to_say(file)):
                files.append(file)
                if job.output_format == "text":
                    _tell_file(job, file)
            progress.step()
    finally:
        progress.clear()
    tell(job.accepted.finish())
    if job.mode.is_preview:
        files = _with_deleted(job, files)
    _tell_end(job, files)
    return max((_status(job.mode, file) for file in files), default=_DONE)


def _with_deleted(job: Job, files: Sequence[FileReport]) -> list[FileReport]:
    """The reports, with what the baseline knows of files that are gone."""
    found = job.accepted.with_deleted(files, LOOKED_FOR)
    if job.output_format == "text" and found:
        told = files[-1].findings if files else ()
        _tell_findings(job, found[-1].findings[len(told) :])
    return found


def _tell_file(job: Job, file: FileReport) -> None:
    _tell_findings(job, file.findings)
    if job.mode is Mode.CHECK and file.outcome is Outcome.CONVERTED:
        tell(f"{log_line(file.path)}: would be converted\n")


def _sort(job: Job, task: Task, answer: _Converted | FileReport, delivery: Delivery) -> FileReport:
    """Deliver what became of a script, and put apart what the project has accepted of it."""
    if not isinstance(answer, _Converted):
        return answer
    file = _finish(delivery, task, answer)
    if file.outcome is None:
        return file
    modules = {one.path: one.before for one in answer.result.modules if one.before is not None}
    contents = {**modules, task.script.name: answer.content.data}
    if job.output_format != "text":
        file = replace(
            file,
            plan=answer.result.plan,
            decisions=answer.result.decisions,
            target=task.target if job.mode is Mode.WRITE else "",
            lines=lines_of(file.findings, contents),
        )
    return job.accepted.sort(
        file,
        task.settings,
        contents,
        errors=not job.mode.writes,
        complete=LOOKED_FOR if file.outcome is Outcome.CONVERTED else (),
    )


def _convert_all(job: Job) -> Iterator[_Converted | FileReport]:
    """Convert everything, on all cores where the scripts have nothing to do with each other."""
    asked = [(task.options, task.script) for task in job.tasks if not task.is_idle]
    # In place, a module that two scripts share must be edited for one after the other.
    known = [_known(job.kept, one) for one in asked]
    missing = [one for one, found in zip(asked, known, strict=True) if found is None]
    convert = partial(_convert, job.kept)
    answers = each_of(convert, missing, jobs=job.jobs, together=job.mode is not Mode.IN_PLACE)
    recalled = iter(known)
    for task in job.tasks:
        if task.is_idle:
            yield FileReport(task.script.name, Outcome.UNCHANGED)
        else:
            yield next(recalled) or next(answers)
    # At their end, the processes that converted have ended, too.
    for _ in answers:
        pass
    if missing:
        job.kept.tidy()


def _known(kept: Kept, each: tuple[Options, Input]) -> _Converted | None:
    """What an earlier run has said of a script; None where it has to be converted anew."""
    options, script = each
    if not kept.folder:
        return None
    try:
        check_whole(script)
        content = read(script)
    except (InterruptedRun, InputError):
        return None
    result = recalled(kept, script, content, options)
    return _Converted(content, result) if result is not None else None


def _convert(kept: Kept, each: tuple[Options, Input]) -> _Converted | FileReport:
    options, script = each
    try:
        check_whole(script)
        content = read(script)
    except InterruptedRun as error:
        return _failed(script, codes.INTERRUPTED, error.path, error.message, error.advice)
    except InputError as error:
        return _failed(script, codes.UNREADABLE, script.name, str(error))
    if _asks_to_be_left_alone(content.data):
        message = "left as it is: a comment in it says so"
        note = Finding(codes.LEFT_ALONE, Level.NOTE, script.name, 0, 0, message)
        return FileReport(script.name, Outcome.UNCHANGED, (note,))
    from transpile.cli.notebooks import place_of
    from transpile.text.decoding import SourceError

    try:
        return _Converted(content, converted(kept, script, content, options))
    except SourceError as error:
        message = f"{place_of(script, content, error.line)}{error.message}"
        failed = _failed(script, codes.UNPARSABLE, script.name, message)
        if content.notebook is not None:
            return failed
        place = replace(failed.findings[0], line=error.line, column=error.column)
        return replace(failed, findings=(place,))
    except Exception as error:
        failed = _failed(script, codes.INTERNAL, script.name, _describe(error))
        return replace(failed, outcome=Outcome.REFUSED)


def _asks_to_be_left_alone(data: bytes) -> bool:
    if b"disttranspile:" not in data:
        return False
    from transpile.acceptance.comments import comments_in

    return any(comment.skips for comment in comments_in(data))


def _finish(delivery: Delivery, task: Task, converted: _Converted) -> FileReport:
    result = converted.result
    framework = result.plan.get("framework")
    if isinstance(framework, str):
        task.check_framework(framework)
    if delivery.job.mode is Mode.IN_PLACE and result.outside:
        found = tuple(sorted((*result.findings, *result.outside), key=lambda one: one.sort_key))
        return FileReport(task.script.name, Outcome.REFUSED, found)
    try:
        findings = delivery.deliver(task, converted.content, result)
    except DeliveryError as error:
        return _failed(task.script, codes.UNWRITABLE, error.path, error.message, error.advice)
    if delivery.job.mode is Mode.CHECK and result.outcome is Outcome.CONVERTED:
        from transpile.cli.project.beside import stands_beside

        beside = stands_beside(delivery.job.kept, task, result)
        if beside is not None:
            # What there is to say of the conversion was said when it was made.
            return FileReport(task.script.name, Outcome.UNCHANGED, (beside,))
    return FileReport(task.script.name, result.outcome, findings)


def _failed(script: Input, code: str, path: str, message: str, advice: str = "") -> FileReport:
    finding = Finding(code, Level.ERROR, path, 0, 0, message, advice)
    return FileReport(script.name, None, (finding,))


def _describe(error: Exception) -> str:
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    place = ""
    if frame is not None:
        file = os.path.basename(frame.tb_frame.f_code.co_filename)
        place = f" ({file}:{frame.tb_lineno})"
    message = f"{type(error).__name__}: {error}"
    if len(message) > _LONGEST_ERROR:
        message = f"{message[:_LONGEST_ERROR]}..."
    return f"internal error: {message}{place}"


def _has_nothing_to_say(file: FileReport) -> bool:
    """In a folder: a file that does not train, or is distributed already."""
    if any(finding.code in _SAID_IN_FOLDERS for finding in file.findings):
        return False
    return file.outcome is Outcome.UNCHANGED and _level(file.findings) is Level.NOTE


def _level(findings: Iterable[Finding]) -> Level:
    return max((finding.level for finding in findings), default=Level.NOTE)


def _status(mode: Mode, file: FileReport) -> int:
    if file.outcome is Outcome.REFUSED and (mode.writes or _level(file.findings) is Level.ERROR):
        return _REFUSED
    if file.outcome is None:
        return _FAILED
    changes = mode.is_preview and file.outcome is Outcome.CONVERTED
    return _LOOK if changes or _level(file.findings) >= Level.WARNING else _DONE


def _tell_findings(job: Job, findings: Sequence[Finding]) -> None:
    from transpile.report.text import render_findings

    colour = wants_colour(sys.stderr)
    if job.quiet:
        findings = [finding for finding in findings if finding.level > Level.NOTE]
    if job.mode is Mode.DIFF:
        by_hand = [finding for finding in findings if finding.level > Level.NOTE]
        findings = [finding for finding in findings if finding.level is Level.NOTE]
        if by_hand:
            tell("Could not be changed, look at it by hand:\n")
            tell(render_findings(by_hand, colour=colour))
    tell(render_findings(findings, colour=colour))


def _tell_end(job: Job, files: Sequence[FileReport]) -> None:
    if job.output_format == "text":
        from transpile.report.text import summary, table

        preview = job.mode.is_preview or job.mode is Mode.NUMBERS
        if not job.quiet:
            tell(table(files, preview=preview))
            tell(summary(files, preview=preview) + "\n")
        return
    from importlib import import_module

    from transpile.cli.project.manual import description

    report = import_module(f"transpile.report.{job.output_format}")
    text: str = report.render(files, description)
    numbers = job.mode is Mode.NUMBERS and job.output_format == "markdown"
    if job.mode.uses_standard_output and not numbers:
        tell(text)
    else:
        put(text.encode())
