"""Converting one input after the other, each whole or not at all."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

from transpile.cli import codes
from transpile.cli.inputs import STANDARD_STREAM, Content, Input, InputError, read
from transpile.cli.launch_files import LaunchFileError, check_writable, write
from transpile.cli.terminal import put, tell, wants_colour
from transpile.finding import Finding, Level
from transpile.options import Options
from transpile.report import FileReport
from transpile.result import Outcome, Result

if TYPE_CHECKING:
    from transpile.cli.launch_request import Launch, LaunchRequest

_DONE = 0
_LOOK = 1
_FAILED = 2
_REFUSED = 3
# Below that, starting a process costs more than it saves.
_SCRIPTS_PER_WORKER = 4
_LONGEST_ERROR = 200
# No framework, no training: there is nothing to launch.
_NO_TRAINING = ("DT002", "DT004")


class Mode(Enum):
    """What is done with the converted text."""

    PRINT = "print"
    WRITE = "write"
    IN_PLACE = "in place"
    DIFF = "diff"
    CHECK = "check"
    PLAN = "plan"

    @property
    def is_preview(self) -> bool:
        """Whether it only tells what a conversion would change."""
        return self in (Mode.DIFF, Mode.CHECK)

    @property
    def uses_standard_output(self) -> bool:
        """Whether code, a diff or a plan goes to standard output."""
        return self in (Mode.PRINT, Mode.DIFF, Mode.PLAN)


@dataclass(frozen=True)
class Task:
    """One script and the file that its conversion goes to, ``-`` where it goes to none."""

    script: Input
    target: str = STANDARD_STREAM


@dataclass(frozen=True)
class Job:
    """All that one run of the command is asked for.

    Args:
        tasks: the scripts and where they go.
        mode: what is done with the converted text.
        options: the choices of the conversion.
        new_folder: the folder of the targets, made when the first of them is written; empty where
            it must be there.
        force: overwrite a target that holds something else.
        output_format: the form of the findings.
        check_framework: raises where a choice does not fit the framework that a script has.
        launch: what starts each target, written beside it.
    """

    tasks: Sequence[Task]
    mode: Mode
    options: Options
    new_folder: str
    force: bool
    output_format: str
    check_framework: Callable[[str], None]
    launch: LaunchRequest | None = None


@dataclass(frozen=True)
class _Converted:
    """A script that could be read, and what the engine made of it."""

    content: Content
    result: Result


def run(job: Job) -> int:
    """Convert everything, report everything, and return the exit status."""
    files = []
    for task, answer in zip(job.tasks, _convert_all(job), strict=True):
        file = _finish(job, task, answer) if isinstance(answer, _Converted) else answer
        if task.script.from_folder and _has_nothing_to_say(file):
            continue
        files.append(file)
        if job.output_format == "text":
            _tell_findings(job.mode, file.findings)
    _tell_end(job, files)
    return max((_status(job.mode, file) for file in files), default=_DONE)


def _convert_all(job: Job) -> Iterator[_Converted | FileReport]:
    """Convert one after the other; the files of a folder, on all cores."""
    scripts = [task.script for task in job.tasks]
    workers = min(_cores(), len(scripts) // _SCRIPTS_PER_WORKER)
    if workers > 1 and any(script.from_folder for script in scripts):
        yield from _convert_in_parallel(scripts, job.options, workers)
    else:
        convert = _convert if len(scripts) == 1 else _convert_one_of_many
        for script in scripts:
            yield convert(job.options, script)


def _convert_in_parallel(
    scripts: Sequence[Input], options: Options, workers: int
) -> Iterator[_Converted | FileReport]:
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor
    from functools import partial

    # Elsewhere a fork is not safe; on Linux it saves every process the imports.
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else None)
    with ProcessPoolExecutor(workers, context, initializer=_depend_on_parent) as executor:
        try:
            yield from executor.map(partial(_convert_one_of_many, options), scripts)
        except BaseException:
            executor.shutdown(wait=False, cancel_futures=True)
            raise


def _depend_on_parent() -> None:
    """Make this process one that its parent interrupts, and that does not outlive it."""
    import multiprocessing
    import signal
    from threading import Thread

    # An interruption is for the parent to report, once.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def end_with_parent() -> None:
        if parent is not None:
            parent.join()
        os._exit(_FAILED)

    Thread(target=end_with_parent, daemon=True).start()


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _convert_one_of_many(options: Options, script: Input) -> _Converted | FileReport:
    answer = _convert(options, script)
    # A process that does not collect by itself shall not grow with every script.
    if not gc.isenabled():
        gc.collect()
    return answer


def _convert(options: Options, script: Input) -> _Converted | FileReport:
    try:
        content = read(script)
    except InputError as error:
        return _failed(script, codes.UNREADABLE, script.name, str(error))
    from transpile.engine import convert
    from transpile.source import SourceError

    try:
        return _Converted(content, convert(content.data, options, path=script.name))
    except SourceError as error:
        failed = _failed(script, codes.UNPARSABLE, script.name, error.message)
        place = replace(failed.findings[0], line=error.line, column=error.column)
        return replace(failed, findings=(place,))
    except Exception as error:
        failed = _failed(script, codes.INTERNAL, script.name, _describe(error))
        return replace(failed, outcome=Outcome.REFUSED)


def _finish(job: Job, task: Task, converted: _Converted) -> FileReport:
    result = converted.result
    framework = result.plan.get("framework")
    if isinstance(framework, str):
        job.check_framework(framework)
    launch = _launch(job, task, result)
    try:
        problem = _deliver(job, task, converted, launch)
    except LaunchFileError as error:
        return _failed(task.script, codes.UNWRITABLE, error.path, error.message, error.advice)
    if problem is not None:
        return _failed(task.script, codes.UNWRITABLE, task.target, *problem)
    findings = (*result.findings, *(launch.findings if launch is not None else ()))
    return FileReport(task.script.name, result.outcome, findings)


def _launch(job: Job, task: Task, result: Result) -> Launch | None:
    """What starts the output; None where nothing is asked for, or nothing can be started."""
    if job.launch is None or result.outcome is Outcome.REFUSED:
        return None
    if any(finding.code in _NO_TRAINING for finding in result.findings):
        return None
    from transpile.cli.launch_script import facts_of_plan

    return job.launch.launch(task.target, facts_of_plan(result.plan))


def _deliver(
    job: Job, task: Task, converted: _Converted, launch: Launch | None
) -> tuple[str, ...] | None:
    """Print or write the result; return what is in the way, and what to do about it."""
    content, result = converted.content, converted.result
    if job.mode is Mode.PLAN:
        put(_plan(task.script.name, result))
    elif result.outcome is Outcome.REFUSED or job.mode is Mode.CHECK:
        pass
    elif job.mode is Mode.DIFF:
        from transpile.report.diff import unified_diff

        colour = wants_colour(sys.stdout)
        put(unified_diff(task.script.name, content.data, result.data, colour=colour))
    elif job.mode is Mode.PRINT:
        put(result.data)
    elif launch is None:
        return _write(job, task.target, content, result.data)
    else:
        files = launch.files(os.path.dirname(task.target))
        check_writable(files, force=job.force)
        problem = _write(job, task.target, content, result.data)
        if problem is None:
            tell(f"Total: {launch.total}\n")
            write(files)
        return problem
    return None


def _write(job: Job, target: str, content: Content, data: bytes) -> tuple[str, ...] | None:
    from transpile.output import read_existing, write_atomically

    try:
        existing = read_existing(target)
        if existing == data:
            return None
        if job.mode is Mode.IN_PLACE and existing != content.data:
            return ("has changed while it was converted",)
        if job.mode is Mode.WRITE and existing and not job.force:
            return (
                "exists and holds something else than what would be written",
                "Name another output, or overwrite it with --force.",
            )
        if job.new_folder:
            os.makedirs(job.new_folder, exist_ok=True)
        write_atomically(target, data, new_mode=content.mode)
    except OSError as error:
        return (f"cannot be written: {error.strerror or error}",)
    return None


def _plan(path: str, result: Result) -> bytes:
    import json

    from transpile.report.escape import without_surrogates

    document = {
        "path": without_surrogates(path),
        "outcome": result.outcome.value,
        "plan": dict(result.plan),
    }
    return f"{json.dumps(document, indent=2)}\n".encode()


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
    """In a folder: a file that does not train, or needs nothing."""
    return file.outcome is Outcome.UNCHANGED and _level(file.findings) is Level.NOTE


def _level(findings: Iterable[Finding]) -> Level:
    return max((finding.level for finding in findings), default=Level.NOTE)


def _status(mode: Mode, file: FileReport) -> int:
    if file.outcome is Outcome.REFUSED:
        return _REFUSED
    if file.outcome is None:
        return _FAILED
    changes = mode.is_preview and file.outcome is Outcome.CONVERTED
    return _LOOK if changes or _level(file.findings) >= Level.WARNING else _DONE


def _tell_findings(mode: Mode, findings: Sequence[Finding]) -> None:
    from transpile.report.text import render_findings

    colour = wants_colour(sys.stderr)
    if mode is Mode.DIFF:
        by_hand = [finding for finding in findings if finding.level > Level.NOTE]
        findings = [finding for finding in findings if finding.level is Level.NOTE]
        if by_hand:
            tell("Could not be changed, look at it by hand:\n")
            tell(render_findings(by_hand, colour=colour))
    tell(render_findings(findings, colour=colour))


def _tell_end(job: Job, files: Sequence[FileReport]) -> None:
    if job.output_format == "text":
        from transpile.report.text import summary

        tell(summary(files, preview=job.mode.is_preview) + "\n")
        return
    from importlib import import_module

    text: str = import_module(f"transpile.report.{job.output_format}").render(files)
    if job.mode.uses_standard_output:
        tell(text)
    else:
        put(text.encode())
