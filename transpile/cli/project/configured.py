"""From the command line and the configuration to what is done with each script."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from transpile.cli.choices import checks_launch, options_of, with_place_of_helpers
from transpile.cli.framework_option import framework_check
from transpile.cli.inputs import Input
from transpile.cli.job import Mode, Task
from transpile.cli.kept import Kept, kept_by
from transpile.cli.project.accepted import Accepted, accepted_of
from transpile.cli.project.settings import (
    ProjectSettings,
    default_map,
    leaves_out,
    misfit,
    of_run,
)
from transpile.cli.targets import is_folder
from transpile.cli.tasks import expand, gate_of_frameworks, target_in
from transpile.configuration.settings import Settings
from transpile.options import Options
from transpile.records import dataclass, replace

if TYPE_CHECKING:
    from transpile.cli.gate import Gate

# So many files that are checked are those of a hook rather than scripts that a person names.
_MANY = 5


def _may_train(gate: Gate, task: Task) -> bool:
    """Whether a script has to be parsed to know that it does not train."""
    script = task.script
    if script.from_folder or script.is_standard_input or task.options.framework != "auto":
        return True
    return not os.path.isfile(script.path) or gate.lets_through(script.path)


@dataclass(frozen=True)
class _Choices:
    """What was chosen for some scripts."""

    options: Options
    check_framework: Callable[[str], None]


class Configured:
    """What is chosen for each script: on the command line, or else in its configuration.

    Args:
        context: of the command, without any configuration.
        words: of the command line.
    """

    def __init__(self, context: click.Context, words: Sequence[str]) -> None:
        self._context = context
        self._words = words
        self.project = ProjectSettings.of_command(context.params)
        self._known: dict[str, _Choices] = {}

    def tasks(self, scripts: Sequence[Input], targets: Sequence[str], mode: Mode) -> list[Task]:
        """What is done with each script, those of folders among them.

        Where many files are checked, as by a hook, those that name no framework are not parsed.
        """
        tasks = [
            self.task(found, target_in(found, target, mode), mode)
            for script, target in zip(scripts, targets, strict=True)
            for found in (self._expand(script) if mode.takes_folders else [script])
        ]
        found = [task for task in tasks if task is not None]
        named = sum(not task.script.from_folder for task in found)
        if mode is not Mode.CHECK or named < _MANY:
            return found
        gate = gate_of_frameworks()
        return [
            task if _may_train(gate, task) else dataclasses.replace(task, is_idle=True)
            for task in found
        ]

    def _expand(self, script: Input) -> Iterator[Input]:
        respects = of_run(
            self._context.params, "respect-gitignore", self.project.of_first(script.path)
        )
        return expand(script, respect_gitignore=respects)

    def task(self, script: Input, target: str, mode: Mode, output: str = "") -> Task | None:
        """What is done with a script; None where the configuration leaves it out of its folder.

        Args:
            script: the script.
            target: the file that it goes to.
            mode: what is done with it.
            output: the file or the folder of the configuration that is meant; empty for the target.

        Raises:
            click.UsageError: the configuration holds what it should not.
        """
        settings = self.project.of(script.path, (output or target) * (mode is Mode.WRITE) or None)
        if leaves_out(self._context.params, script, settings):
            return None
        choices = self.choices(settings)
        options = with_place_of_helpers(
            choices.options, mode, in_folder=self._is_in_folder(settings, mode, output)
        )
        if self._is_launched(settings, mode, output or target):
            options = replace(options, check_launch=True)
        return Task(script, target, options, choices.check_framework, settings)

    def _is_in_folder(self, settings: Settings, mode: Mode, output: str) -> bool:
        """Whether the conversion of a script goes, or has gone, to a folder."""
        if mode is Mode.WRITE:
            named = output or self._context.params["output"]
            return bool(named) and is_folder(named)
        paired = settings.output.value if settings.output is not None else None
        return isinstance(paired, Path) and paired.is_dir()

    @staticmethod
    def _is_launched(settings: Settings, mode: Mode, target: str) -> bool:
        """Whether the output is that of a pair which launch files start, as sync writes it."""
        if settings.output is None or not checks_launch(settings.targets):
            return False
        if mode is Mode.WRITE:
            return bool(os.path.abspath(target) == os.path.abspath(settings.output.value))
        return mode.is_preview

    def accepted(self, scripts: Sequence[Input]) -> Accepted:
        """What the run accepts of what it finds."""
        return accepted_of(self._context.params, self._first(scripts))

    def kept(self, scripts: Sequence[Input]) -> Kept:
        """What earlier runs have kept."""
        return kept_by(self._context.params, self._first(scripts).cache_folder)

    def of_run(self, key: str, scripts: Sequence[Input]) -> Any:
        """What is chosen for the whole run, by the configuration of its first input."""
        return of_run(self._context.params, key, self._first(scripts))

    def _first(self, scripts: Sequence[Input]) -> Settings:
        return self.project.of_first(scripts[0].path) if scripts else Settings()

    def choices(self, settings: Settings) -> _Choices:
        """What is chosen, with what a configuration says behind the command line."""
        values = default_map(settings) if settings.options else {}
        key = repr((values, settings.roles, settings.apart))
        if key not in self._known:
            self._known[key] = self._make(values, settings)
        return self._known[key]

    def _make(self, values: dict[str, Any], settings: Settings) -> _Choices:
        context = self._context if not values else self._again(values, settings)
        try:
            options = replace(
                options_of(context.params),
                roles=tuple(sorted(settings.roles.items())),
                apart=tuple(sorted(settings.apart)),
            )
        except ValueError as error:
            where = f"{settings.file.path}: " if settings.file is not None else ""
            raise click.UsageError(f"{where}{error}.") from error
        return _Choices(options, framework_check(context))

    def _again(self, values: dict[str, Any], settings: Settings) -> click.Context:
        """The command line read once more, with other defaults."""
        command, name = self._context.command, self._context.info_name
        try:
            return command.make_context(name, list(self._words), default_map=values)
        except click.BadParameter as error:
            raise misfit(self._context, settings, error) from error
