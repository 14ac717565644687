"""From the command line and the configuration to what is done with each script."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from transpile.cli.choices import options_of
from transpile.cli.framework_option import framework_check
from transpile.cli.inputs import Input
from transpile.cli.job import Mode, Task
from transpile.cli.project.accepted import Accepted, accepted_of
from transpile.cli.project.settings import ProjectSettings, default_map, leaves_out, misfit
from transpile.configuration.settings import Settings
from transpile.options import Options
from transpile.records import dataclass, replace


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
        return Task(script, target, choices.options, choices.check_framework, settings)

    def accepted(self, scripts: Sequence[Input]) -> Accepted:
        """What the run accepts of what it finds."""
        first = self.project.of(scripts[0].path) if scripts else Settings()
        return accepted_of(self._context.params, first)

    def choices(self, settings: Settings) -> _Choices:
        """What is chosen, with what a configuration says behind the command line."""
        values = default_map(settings) if settings.options else {}
        key = repr((values, settings.roles))
        if key not in self._known:
            self._known[key] = self._make(values, settings)
        return self._known[key]

    def _make(self, values: dict[str, Any], settings: Settings) -> _Choices:
        context = self._context if not values else self._again(values, settings)
        try:
            options = replace(
                options_of(context.params), roles=tuple(sorted(settings.roles.items()))
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
