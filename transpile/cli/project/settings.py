"""The configuration as the command uses it: read once, checked, mixed with the command line."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from transpile.configuration.files import File, UnreadableError
from transpile.configuration.patterns import matches, wrong_pattern
from transpile.configuration.settings import (
    RUN_CHOICES,
    RUN_OPTIONS,
    Project,
    Settings,
    contradiction,
    roles_in,
)
from transpile.options import Options

if TYPE_CHECKING:
    from transpile.cli.inputs import Input
    from transpile.configuration.schema import OptionKey

#: Options that are no keys of a configuration: what one run does, and where that is read.
OF_ONE_RUN = frozenset(
    {
        *("output", "in-place", "diff", "check", "plan", "force", "launch"),
        *("config", "isolated", "write-baseline", "no-cache", "version", "help"),
    }
)


class ProjectSettings:
    """The settings of the scripts of one run.

    Args:
        chosen: the one file that holds for all of them; None for the nearest to each.
        isolated: no file counts.
    """

    def __init__(self, chosen: str | None = None, *, isolated: bool = False) -> None:
        self._project = Project(chosen, isolated=isolated)
        self._checked: set[Path] = set()

    @classmethod
    def of_command(cls, choices: Mapping[str, Any]) -> ProjectSettings:
        """Those that a command line asks for."""
        return cls(choices.get("config"), isolated=choices.get("isolated", False))

    def file_for(self, folder: str) -> File | None:
        """The file that holds for the scripts of a folder.

        Raises:
            click.UsageError: it cannot be read, or holds what it should not.
        """
        try:
            file = self._project.file_for(folder)
        except UnreadableError as error:
            raise click.UsageError(f"{error}.") from error
        if file is not None and file.path not in self._checked:
            _check(file)
            self._checked.add(file.path)
        return file

    def of(self, script: str, output: str | None = None) -> Settings:
        """What holds for a script; its output tells apart the tables of one script.

        Raises:
            click.UsageError: a file cannot be read, or holds what it should not.
        """
        if self.file_for(os.path.dirname(script)) is None:
            return Settings()
        return self._project.settings(script, output)

    def of_first(self, path: str) -> Settings:
        """What holds for a whole run, by its first input: a script, or a folder of scripts.

        Raises:
            click.UsageError: a file cannot be read, or holds what it should not.
        """
        return self.of(os.path.join(path, "") if os.path.isdir(path) else path)


def of_run(choices: Mapping[str, Any], key: str, settings: Settings) -> Any:
    """What is chosen for a run: on the command line, else in its configuration, else by default."""
    given = choices[key.replace("-", "_")]
    if given is not None:
        return given
    said = settings.run.get(key)
    return said.value if said is not None else RUN_CHOICES[key]


def leaves_out(choices: Mapping[str, Any], script: Input, settings: Settings) -> bool:
    """Whether a script is excluded, on the command line or in its configuration."""
    if not script.from_folder and not of_run(choices, "force-exclude", settings):
        return False
    wrong = wrong_pattern(choices["exclude"]) if choices["exclude"] else None
    if wrong is not None:
        raise click.UsageError(f"--exclude: {wrong!r} is no pattern as .gitignore has them.")
    return settings.excluded or matches(script.path, Path.cwd(), choices["exclude"])


def conversion_options() -> dict[str, click.Option]:
    """The options of a conversion that a configuration may hold, by their keys."""
    from transpile.cli.commands.convert import command

    none = {*OF_ONE_RUN, *RUN_OPTIONS}
    return {key: option for key, option in _by_key(command.params).items() if key not in none}


def run_options() -> dict[str, click.Option]:
    """The options of a whole run that a configuration may hold as they are, by their keys."""
    from transpile.cli.commands.convert import command

    return {key: option for key, option in _by_key(command.params).items() if key in RUN_CHOICES}


def launch_options() -> dict[str, click.Option]:
    """The options about a job that a configuration may hold, by their keys."""
    from transpile.cli.commands.launch import command
    from transpile.cli.launching.launch_options import NAMES

    return {key: option for key, option in _by_key(command.params).items() if option.name in NAMES}


def default_map(settings: Settings) -> dict[str, Any]:
    """What a configuration says of a conversion, as click takes it."""
    options = conversion_options()
    return {options[key].name or "": said.value for key, said in settings.options.items()}


def misfit(context: click.Context, settings: Settings, error: click.BadParameter) -> Exception:
    """The error of a value, told with the file and the table that it stands in."""
    keys = {option.name: key for key, option in conversion_options().items()}
    key = keys.get(error.param.name if error.param is not None else "", "")
    said = settings.options.get(key)
    if said is None or settings.file is None:
        return error
    return click.UsageError(f"{settings.file.path}: {said.where} {key}: {error.message}", context)


def _by_key(params: Iterable[click.Parameter]) -> Mapping[str, click.Option]:
    return {
        max(option.opts, key=len).lstrip("-"): option
        for option in params
        if isinstance(option, click.Option)
    }


def _check(file: File) -> None:
    from transpile.configuration.schema import ConfigurationError, check

    options = [_key_of(key, option, "text") for key, option in conversion_options().items()]
    run = [_key_of(key, option, "text") for key, option in run_options().items()]
    launch = [_key_of(key, option, "amount") for key, option in launch_options().items()]
    try:
        check(file.table, options, run, launch, file.name)
    except ConfigurationError as error:
        raise click.UsageError(f"{file.path}: {error}") from error
    wrong = contradiction(file)
    if wrong:
        raise click.UsageError(f"{file.path}: {wrong}")
    try:
        roles, apart = roles_in(file)
        Options(roles=tuple(sorted(roles.items())), apart=apart)
    except ValueError as error:
        raise click.UsageError(f"{file.path}: {error}.") from error
    for table in (file.table, *file.table.get("script", ())):
        named = table.get("launch", {}).get("targets", ())
        _check_targets(file, map(str, named if isinstance(named, (list, tuple)) else [named]))
    for key in ("select", "ignore"):
        check_codes(file.table.get(key, ()), f"{file.path}: {key}: ")


def _check_targets(file: File, names: Iterable[str]) -> None:
    from difflib import get_close_matches

    from transpile.launch import targets

    for name in names:
        if name not in targets():
            near = get_close_matches(name, targets(), 1)
            hint = f"; did you mean {near[0]}?" if near else "."
            raise click.UsageError(f"{file.path}: launch targets: there is no {name!r}{hint}")


def check_codes(prefixes: Iterable[str], where: str = "") -> None:
    """Make sure that texts are codes of findings, or the beginnings of some.

    Args:
        prefixes: the texts.
        where: what messages begin with.

    Raises:
        click.UsageError: one is none.
    """
    for prefix in prefixes:
        from transpile.acceptance.codes import unknown
        from transpile.cli.astray_words import meant, spelled
        from transpile.cli.project.manual import entries

        codes = sorted({entry.code for entry in entries()})
        if not prefix or unknown((prefix,), codes):
            code = spelled(prefix)
            near = code if code in codes else meant(code, codes, 0.6)
            hint = f"; did you mean {near}?" if near else "."
            raise click.UsageError(f"{where}there is no code {prefix!r}{hint}")


def _key_of(key: str, option: click.Option, text: Any) -> OptionKey:
    from transpile.configuration.schema import OptionKey

    if option.is_flag:
        return OptionKey(key, "flag")
    if isinstance(option.type, click.Choice):
        return OptionKey(key, "choice", tuple(option.type.choices), several=option.multiple)
    if isinstance(option.type, click.IntRange):
        least = option.type.min
        return OptionKey(key, "integer", least=int(least) if least is not None else None)
    return OptionKey(key, text, several=option.multiple)
