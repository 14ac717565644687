"""What is chosen about a job: on the command line, and in the project's configuration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import click
from click.core import ParameterSource

from transpile.cli.launching.launch_options import NAMES

ARGUMENTS = "script-arguments"


def chosen(context: click.Context, script: str) -> dict[str, Any]:
    """Return the choices for a script by the names of the options, in the order of the help.

    The command line wins over the project. The arguments of the script, where the project names
    some, stand under ``script-arguments``.

    Args:
        context: of a command with these options.
        script: the script that is launched, in whose folder or above the project is.

    Raises:
        click.UsageError: the project's file cannot be read, or holds what is no choice.
    """
    project = _of_project(context, script)
    found: dict[str, Any] = {}
    for option in _options(context):
        name = option.name or ""
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            found[name] = context.params[name]
        elif name in project:
            found[name] = project[name]
    if ARGUMENTS in project:
        found[ARGUMENTS] = project[ARGUMENTS]
    return found


def words(context: click.Context, choices: Mapping[str, Any]) -> list[str]:
    """Return the words of a command line that makes the same choices."""
    found: list[str] = []
    for option in _options(context):
        if option.name not in choices:
            continue
        value = choices[option.name]
        if option.is_flag:
            found += [option.opts[-1]] if value else []
        else:
            for text in value if option.multiple else (value,):
                found += option_words(option.opts[-1], str(text))
    return found


def option_words(option: str, value: str) -> list[str]:
    """Return an option and its value such that the value is not taken for another option."""
    return [f"{option}={value}"] if value.startswith("-") and value != "-" else [option, value]


def _options(context: click.Context) -> Iterable[click.Option]:
    return (
        parameter
        for parameter in context.command.get_params(context)
        if isinstance(parameter, click.Option) and parameter.name in NAMES
    )


def _of_project(context: click.Context, script: str) -> dict[str, Any]:
    from transpile.cli.project.settings import ProjectSettings

    settings = ProjectSettings.of_command(context.params).of(script)
    options = {option.opts[-1].removeprefix("--"): option for option in _options(context)}
    found: dict[str, Any] = {}
    for key, said in settings.launch.items():
        try:
            if key == ARGUMENTS:
                found[key] = tuple(_texts(said.value))
            elif key in options:
                found[options[key].name or ""] = _value(context, options[key], said.value)
        except (click.BadParameter, TypeError) as error:
            assert settings.file is not None
            reason = error.message if isinstance(error, click.BadParameter) else str(error)
            where = f"{settings.file.path}: {said.where}"
            raise click.UsageError(f"{where} {key}: {reason}", context) from error
    return found


def _value(context: click.Context, option: click.Option, value: Any) -> Any:
    if option.is_flag:
        if not isinstance(value, bool):
            raise TypeError("is true or false.")
        return value
    if option.multiple:
        if isinstance(value, Mapping):
            value = [f"{name}={content}" for name, content in value.items()]
        return option.process_value(context, _texts(value))
    (text,) = _texts([value])
    return option.process_value(context, text)


def _texts(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    for each in values:
        if isinstance(each, bool) or not isinstance(each, (str, int, float)):
            raise TypeError("is a text, a number or a list of them.")
    return [str(each) for each in values]
