"""Keeping one output up to date with its script."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from transpile.cli import codes
from transpile.cli.conversion import LOOKED_FOR
from transpile.cli.delivery import Delivery, DeliveryError, Outputs
from transpile.cli.inputs import Content, Input, InputError, read
from transpile.cli.job import Job, Mode, Task
from transpile.cli.launching.launch_request import LaunchRequest
from transpile.cli.project.configured import Configured
from transpile.cli.project.state import State
from transpile.cli.targets import script_name
from transpile.cli.terminal import tell, wants_colour
from transpile.configuration.files import File
from transpile.configuration.settings import Pair
from transpile.finding import Finding, Level
from transpile.records import replace
from transpile.report import FileReport
from transpile.result import Outcome, Result

_DONE = 0
_LOOK = 1
_FAILED = 2
_REFUSED = 3


class Synchroniser:
    """Brings the outputs of a configuration up to date, one after the other.

    Args:
        file: the configuration.
        state: what was written before; it grows.
        check: nothing is written.
        force: what was edited by hand is overwritten.
    """

    def __init__(self, file: File, state: State, *, check: bool, force: bool) -> None:
        self._file = file
        self._state = state
        self._check = check
        self._force = force
        self.counts = dict.fromkeys(("up to date", "written", "edited by hand", "failed"), 0)
        if check:
            self.counts = {"up to date": 0, "out of date": 0, "edited by hand": 0, "failed": 0}

    def run(self, pair: Pair) -> int:
        """Bring one output up to date, say what there is to say, and return the exit status."""
        source, output = os.path.relpath(pair.source), _relative(pair)
        try:
            delivery, task, content, result = self._convert(pair, source, output)
        except (InputError, DeliveryError) as error:
            code = codes.UNREADABLE if isinstance(error, InputError) else codes.UNWRITABLE
            return self._fail(source, [Finding(code, Level.ERROR, source, 0, 0, str(error))])
        if result.outcome is not Outcome.CONVERTED:
            refused = result.outcome is Outcome.REFUSED
            status = self._fail(source, _told(delivery, task, content, result, result.findings))
            return _REFUSED if refused else status
        try:
            outputs = delivery.outputs(task, content, result)
            told = _told(delivery, task, content, result, outputs.findings)
            outputs = replace(outputs, findings=told)
            return self._bring_up_to_date(pair, delivery, outputs, source, output)
        except DeliveryError as error:
            finding = Finding(
                codes.UNWRITABLE, Level.ERROR, error.path, 0, 0, error.message, error.advice
            )
            return self._fail(source, [finding])

    def _convert(
        self, pair: Pair, source: str, output: str
    ) -> tuple[Delivery, Task, Content, Result]:
        from transpile.cli.commands.convert import command
        from transpile.cli.notebooks import convert_input
        from transpile.text.decoding import SourceError

        launch = [word for target in pair.targets for word in ("--launch", target)]
        words = [source, "-o", output, "--config", os.fspath(self._file.path), *launch]
        context = command.make_context("disttranspile", list(words))
        script = Input(source)
        target = (
            output if not output.endswith(os.sep) else os.path.join(output, script_name(source))
        )
        configured = Configured(context, words)
        task = configured.task(script, target, Mode.WRITE, output)
        assert task is not None
        content = read(script)
        request = LaunchRequest(context, pair.targets) if pair.targets else None
        job = Job(
            tasks=[task],
            mode=Mode.WRITE,
            new_folder=output if output.endswith(os.sep) else "",
            force=True,
            output_format="text",
            accepted=configured.accepted([script]),
            launch=request,
        )
        try:
            result = convert_input(script, content, task.options)
        except SourceError as error:
            raise InputError(f"line {error.line}: {error.message}") from error
        framework = result.plan.get("framework")
        if isinstance(framework, str):
            task.check_framework(framework)
        return Delivery(job), task, content, result

    def _bring_up_to_date(
        self, pair: Pair, delivery: Delivery, outputs: Outputs, source: str, output: str
    ) -> int:
        from transpile.output.files import read_existing

        wanted = {file.path: file.data for file in outputs.files}
        wanted |= {file.path: file.data for file in outputs.starting}
        try:
            there = {path: read_existing(path) for path in wanted}
        except OSError as error:
            message = f"cannot be read: {error.strerror or error}"
            raise DeliveryError(os.fspath(error.filename or output), message) from error
        stale = [path for path, data in wanted.items() if there[path] != data]
        edited = [path for path in stale if self._is_edited(pair, path, there[path])]
        if edited and not self._force:
            self.counts["edited by hand"] += 1
            for path in edited:
                tell(
                    f"{path}: was edited by hand, and is no longer what {source} converts to\n"
                    f"    make the change in {source}, or overwrite it with disttranspile sync "
                    f"--force\n    to keep it as it is, take its table out of "
                    f"{os.path.relpath(self._file.path)}\n"
                )
            return _LOOK
        if not stale:
            self.counts["up to date"] += 1
            self._state.note(pair.output, wanted)
            return _DONE
        _tell_findings(outputs.findings)
        if self._check:
            self.counts["out of date"] += 1
            for path in stale:
                what = "is missing" if there[path] is None else f"is older than {source}"
                tell(f"{path}: {what}\n    write it with disttranspile sync\n")
            return _LOOK
        delivery.write(outputs)
        self._state.note(pair.output, wanted)
        self.counts["written"] += 1
        for path in stale:
            why = f"it was older than {source} or its options"
            tell(f"{path}: written{'' if there[path] is None else f', as {why}'}\n")
        return _LOOK

    def _is_edited(self, pair: Pair, path: str, data: bytes | None) -> bool:
        """Whether a file holds something that was not written here, and may be lost."""
        return bool(data) and not self._state.wrote(pair.output, path, data or b"")

    def _fail(self, source: str, findings: Sequence[Finding]) -> int:
        self.counts["failed"] += 1
        _tell_findings(findings)
        tell(f"{source}: is not converted, so that its output is as it was\n")
        if not os.path.lexists(source):
            tell("    where it was moved or renamed, say so in `source` of its table\n")
        return _FAILED


def _told(
    delivery: Delivery, task: Task, content: Content, result: Result, findings: Sequence[Finding]
) -> tuple[Finding, ...]:
    """What is left of findings, once what the project has accepted is put apart."""
    modules = {one.path: one.before for one in result.modules if one.before is not None}
    report = delivery.job.accepted.sort(
        FileReport(task.script.name, result.outcome, tuple(findings)),
        task.settings,
        {**modules, task.script.name: content.data},
        errors=False,
        complete=LOOKED_FOR if result.outcome is Outcome.CONVERTED else (),
    )
    return report.findings


def _relative(pair: Pair) -> str:
    text = os.path.relpath(pair.output)
    return f"{text}{os.sep}" if pair.is_folder else text


def _tell_findings(findings: Sequence[Finding]) -> None:
    from transpile.report.text import render_findings

    tell(render_findings(findings, colour=wants_colour(sys.stderr)))
