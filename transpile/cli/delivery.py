"""Delivering what became of a script: printed, shown as a diff, or written with its project."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from transpile.cli.inputs import Content
from transpile.cli.job import Job, Mode, Task
from transpile.cli.launching.launch_files import LaunchFile, LaunchFileError, check_writable
from transpile.cli.terminal import put, tell, wants_colour
from transpile.finding import Finding
from transpile.records import dataclass
from transpile.result import Outcome, ProjectFile, Result

if TYPE_CHECKING:
    from transpile.cli.launching.launch_request import Launch

# No framework, no training: there is nothing to launch.
_NO_TRAINING = ("DT002", "DT004")
_NEW_FILE_MODE = 0o666


class DeliveryError(Exception):
    """What became of a script cannot be delivered.

    Args:
        path: the file in question.
        message: why, in one line.
        advice: what to do about it.
    """

    def __init__(self, path: str, message: str, advice: str = "") -> None:
        super().__init__(f"{path}: {message}")
        self.path = path
        self.message = message
        self.advice = advice


@dataclass(frozen=True)
class NewFile:
    """A file to write.

    Args:
        path: where.
        data: what.
        before: what the file must hold still where it is overwritten in place.
        mode: its permission bits where it is new.
        grows: it holds all that the file holds already.
    """

    path: str
    data: bytes
    before: bytes | None
    mode: int
    grows: bool = False


@dataclass(frozen=True)
class Outputs:
    """All that is written for one script.

    Args:
        files: the modules of its project, and last the script.
        starting: what starts it.
        findings: what there is to say about it.
        total: what the job takes together; empty where none is launched.
    """

    files: Sequence[NewFile]
    starting: Sequence[LaunchFile]
    findings: tuple[Finding, ...]
    total: str = ""


class Delivery:
    """Delivers the results of one run, one after the other.

    Args:
        job: what the run is asked for.
    """

    def __init__(self, job: Job) -> None:
        self.job = job
        self._shown: set[tuple[str, bytes]] = set()
        self._written: dict[str, bytes] = {}

    def deliver(self, task: Task, content: Content, result: Result) -> tuple[Finding, ...]:
        """Print or write one result, and return what there is to say about it.

        Raises:
            DeliveryError: a file is in the way or cannot be written.
        """
        mode = self.job.mode
        numbers_apart = mode is not Mode.PLAN and self.job.output_format != "markdown"
        if task.options.explain_numbers is not None and numbers_apart:
            self._say_numbers(task.script.name, result)
        if mode is Mode.PLAN:
            put(_plan(task.script.name, result))
        elif result.outcome is Outcome.REFUSED or mode in (Mode.CHECK, Mode.NUMBERS):
            pass
        elif mode is Mode.DIFF:
            self._show(task, content, result)
        elif mode is Mode.PRINT:
            _refuse_several(result, "standard output")
            put(result.data)
        elif not task.script.from_folder or result.outcome is Outcome.CONVERTED:
            return self._write(task, content, result)
        return result.findings

    def _say_numbers(self, path: str, result: Result) -> None:
        """Print the numbers, beside what else goes to standard output."""
        numbers = result.plan.get("numbers")
        if not isinstance(numbers, dict):
            return
        if self.job.output_format == "json" and self.job.mode is Mode.NUMBERS:
            put(_as_json(path, {"numbers": numbers}))
            return
        from transpile.report.numbers import render

        aside = self.job.output_format != "text" or self.job.mode in (Mode.DIFF, Mode.PRINT)
        stream = sys.stderr if aside and self.job.mode is not Mode.NUMBERS else sys.stdout
        width = None
        if stream is not None and stream.isatty():
            width = os.get_terminal_size(stream.fileno()).columns
        text = render(path, numbers, colour=wants_colour(stream), width=width)
        if stream is sys.stderr:
            tell(text)
        else:
            put(text.encode("utf-8", "backslashreplace"))

    def _show(self, task: Task, content: Content, result: Result) -> None:
        from transpile.report.diff import unified_diff

        colour = wants_colour(sys.stdout)
        origins = result.origins if self.job.annotate else ()
        name = task.script.name
        changes: list[tuple[str, bytes | None, bytes]] = [(name, content.data, result.data)]
        changes += [(file.path, file.before, file.data) for file in result.changed_modules]
        for path, before, after in changes:
            if (path, after) not in self._shown:
                self._shown.add((path, after))
                put(unified_diff(path, before, after, colour=colour, origins=origins))

    def outputs(self, task: Task, content: Content, result: Result) -> Outputs:
        """What would be written for a script: its project, what starts it, and what to say of it.

        Raises:
            DeliveryError: one file is not enough, or the project itself would be overwritten.
        """
        in_place = self.job.mode is Mode.IN_PLACE
        target = task.target
        findings = result.findings
        in_file = not in_place and not self.job.new_folder
        if in_file:
            _refuse_several(result, target, beside=True)
        elif not in_place and any(not file.helpers for file in result.modules):
            target = _target_in_project(task, result)
            if not _same_folder(target, task.script.path):
                found = {*findings, *result.bound_to_place}
                findings = tuple(sorted(found, key=lambda finding: finding.sort_key))
        modules = list(_modules_in_place(result)) if in_place else []
        if self.job.new_folder and result.modules:
            modules += self._modules_beside(target, result)
        if in_file:
            modules += self._helpers_beside(target, result)
        # The script comes last, and first what is new: whoever starts it finds all that it needs.
        modules.sort(key=lambda file: os.path.lexists(file.path))
        files = (*modules, NewFile(target, result.data, content.data, content.mode))
        launch = self._launch(target, result)
        if launch is None:
            return Outputs(files, (), findings)
        starting = tuple(launch.files(os.path.dirname(target)))
        return Outputs(files, starting, (*findings, *launch.findings), launch.total)

    def _modules_beside(self, target: str, result: Result) -> Iterator[NewFile]:
        """Every module of the project, where the copied script will find it."""
        root = _root(target, result)
        for file in result.modules:
            path = _beside(root, file.place)
            yield self._module(path, file, _mode_of(file.path))

    def _helpers_beside(self, target: str, result: Result) -> Iterator[NewFile]:
        """The module of helpers, in the folder of the script that imports it."""
        for file in result.changed_modules:
            path = os.path.join(os.path.dirname(target), os.path.basename(file.path))
            yield self._module(path, file, _NEW_FILE_MODE)

    def _module(self, path: str, file: ProjectFile, mode: int) -> NewFile:
        """A module as it will be; one of helpers keeps those that other scripts have in it."""
        if not file.helpers:
            return NewFile(path, file.data, None, mode)
        from transpile.helpers.text import united
        from transpile.output.files import read_existing

        try:
            before = read_existing(path)
            if before is None:
                return NewFile(path, file.data, None, mode)
            both = united(before, file.data, file.helpers, replaces=self.job.force)
        except OSError as error:
            raise DeliveryError(path, f"cannot be read: {error.strerror or error}") from error
        except ValueError as error:
            raise DeliveryError(
                path,
                "is in the place of the helpers, and was not written by a conversion",
                "Keep them in the script with --helpers inline.",
            ) from error
        if both is None:
            return NewFile(path, file.data, None, mode)
        return NewFile(path, both, None, mode, grows=True)

    def write(self, outputs: Outputs) -> None:
        """Write what belongs to one script, all of it or nothing.

        Raises:
            DeliveryError: a file is in the way or cannot be written.
        """
        try:
            check_writable(outputs.starting, force=self.job.force)
        except LaunchFileError as error:
            raise DeliveryError(error.path, error.message, error.advice) from error
        self._write_files(outputs.files, outputs.starting)

    def _write(self, task: Task, content: Content, result: Result) -> tuple[Finding, ...]:
        """Write the script, its project and its launch files."""
        outputs = self.outputs(task, content, result)
        self.write(outputs)
        if outputs.total:
            tell(f"Total: {outputs.total}\n")
        return outputs.findings

    def _launch(self, target: str, result: Result) -> Launch | None:
        """What starts the output; None where nothing is asked for, or nothing can be started."""
        if self.job.launch is None:
            return None
        if any(finding.code in _NO_TRAINING for finding in result.findings):
            return None
        from transpile.cli.launching.launch_script import facts_of_plan

        return self.job.launch.launch(target, facts_of_plan(result.plan, result.data))

    def _write_files(self, files: Sequence[NewFile], starting: Sequence[LaunchFile]) -> None:
        """Write files all together, those left out that hold what they shall hold.

        Args:
            files: the modules of the project, and last the script.
            starting: what starts it.
        """
        from transpile.output.files import read_existing
        from transpile.output.lock import JournalError
        from transpile.output.recovery import recover
        from transpile.output.together import NewContent, write_atomically, write_together
        from transpile.output.traces import journals_around

        pending = []
        path = files[-1].path
        try:
            for journal in journals_around(file.path for file in files):
                recover(journal)
            for file in files:
                path = file.path
                existing = read_existing(path)
                if existing != file.data:
                    self._refuse_to_overwrite(file, existing)
                    pending.append(NewContent(path, file.data, file.mode))
            for launch_file in starting:
                path = launch_file.path
                if read_existing(path) != launch_file.data:
                    pending.insert(0, NewContent(path, launch_file.data, launch_file.mode))
            path = files[-1].path
            if not self.job.new_folder:
                for content in pending:
                    path = content.path
                    os.stat(os.path.dirname(os.path.realpath(path)))
            together = [content for content in pending if _is_plain(content.path)]
            path = together[-1].path if together else path
            write_together(together)
            for content in pending:
                if content not in together:
                    path = content.path
                    write_atomically(path, content.data)
        except JournalError as error:
            raise DeliveryError(os.fspath(error.filename), error.reason, error.advice) from error
        except OSError as error:
            named = error.filename if len(pending) > 1 and error.filename else path
            message = f"cannot be written: {error.strerror or error}"
            raise DeliveryError(os.fspath(named), message) from error
        self._written.update((os.path.realpath(file.path), file.data) for file in files)

    def _refuse_to_overwrite(self, file: NewFile, existing: bytes | None) -> None:
        """Raise where a file holds something else than may be lost."""
        if file.grows:
            return
        if self.job.mode is Mode.IN_PLACE:
            if existing != file.before:
                raise DeliveryError(file.path, "has changed while it was converted")
        elif os.path.realpath(file.path) in self._written:
            raise DeliveryError(
                file.path,
                "is a module that another script of this run needs otherwise",
                "Convert each script into a folder of its own.",
            )
        elif existing and not self.job.force:
            raise DeliveryError(
                file.path,
                "exists and holds something else than what would be written",
                "Name another output, or overwrite it with --force.",
            )


def _refuse_several(result: Result, target: str, *, beside: bool = False) -> None:
    """Raise where one file, and helpers beside it, are not enough for what changes."""
    changed = result.changed_modules
    if beside and all(file.helpers for file in changed):
        return
    if changed:
        raise DeliveryError(
            target,
            "cannot hold the conversion, which changes other modules of the project, too: "
            + ", ".join(file.path for file in changed),
            "Name a folder with -o DIR/, or overwrite the project with --in-place.",
        )


def _target_in_project(task: Task, result: Result) -> str:
    """Where the script of a project goes: its place in the project is kept below the folder.

    Raises:
        DeliveryError: the project would be overwritten.
    """
    target, place = task.target, result.place.split("/")
    own = task.script.below.split("/") if task.script.below else [os.path.basename(target)]
    if own[-len(place) :] != place:
        folder = os.path.dirname(target)
        for _ in own[:-1]:
            folder = os.path.dirname(folder)
        target = os.path.join(folder, *place)
    root = _root(target, result)
    for path in (task.script.path, *(file.path for file in result.modules)):
        for written in (target, *(_beside(root, file.place) for file in result.modules)):
            if os.path.exists(written) and os.path.exists(path) and os.path.samefile(written, path):
                raise DeliveryError(
                    written, "is part of the project itself", "--in-place overwrites it."
                )
    return target


def _root(target: str, result: Result) -> str:
    """The folder that stands for the one which holds the whole project."""
    root = target
    for _ in result.place.split("/"):
        root = os.path.dirname(root)
    return root


def _beside(root: str, place: str) -> str:
    return os.path.join(root, *place.split("/"))


def _modules_in_place(result: Result) -> Iterator[NewFile]:
    """The modules of the project that change."""
    for file in result.changed_modules:
        yield NewFile(file.path, file.data, file.before, _mode_of(file.path))


def _is_plain(path: str) -> bool:
    """Whether a file is a regular one, or is not there yet."""
    return os.path.isfile(path) or not os.path.exists(path)


def _mode_of(path: str) -> int:
    """The permission bits of a file; those of a new one where there is none."""
    try:
        return stat.S_IMODE(os.stat(path).st_mode)
    except OSError:
        return _NEW_FILE_MODE


def _same_folder(target: str, script: str) -> bool:
    """Whether the output stands beside the script, so that all paths still hold."""
    folders = [os.path.realpath(os.path.dirname(path) or ".") for path in (target, script)]
    return folders[0] == folders[1]


def _plan(path: str, result: Result) -> bytes:
    return _as_json(path, {"outcome": result.outcome.value, "plan": dict(result.plan)})


def _as_json(path: str, content: dict[str, Any]) -> bytes:
    import json

    from transpile.report.escape import without_surrogates

    document = {"path": without_surrogates(path), **content}
    return f"{json.dumps(document, indent=2)}\n".encode()
