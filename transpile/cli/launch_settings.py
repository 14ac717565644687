"""What is chosen about a job: on the command line, and in the project's ``pyproject.toml``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from transpile.cli.launch_options import NAMES
from transpile.reading import read_regular

ARGUMENTS = "script-arguments"
_FILE = "pyproject.toml"
_TABLE = "[tool.disttranspile.launch]"


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
    path, table = _table_for(script)
    options = {option.opts[-1].removeprefix("--"): option for option in _options(context)}
    found: dict[str, Any] = {}
    for key, value in table.items():
        try:
            if key == ARGUMENTS:
                found[key] = tuple(_texts(value))
            elif key in options:
                found[options[key].name or ""] = _value(context, options[key], value)
            else:
                raise click.BadParameter("there is no such choice.")
        except (click.BadParameter, TypeError) as error:
            reason = error.message if isinstance(error, click.BadParameter) else str(error)
            raise click.UsageError(f"{path}: {_TABLE} {key}: {reason}", context) from error
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


def _table_for(script: str) -> tuple[Path, Mapping[str, Any]]:
    folder = Path(os.path.abspath(os.path.dirname(script)))
    for parent in (folder, *folder.parents):
        path = parent / _FILE
        if path.is_file():
            return path, _table_in(path)
    return Path(), {}


def _table_in(path: Path) -> Mapping[str, Any]:
    try:
        data = read_regular(path)
    except OSError as error:
        raise click.UsageError(f"{path}: cannot be read: {error.strerror}.") from error
    if b"disttranspile" not in data:
        return {}
    try:
        toml: Any = import_module("tomllib")
    except ImportError:
        raise click.UsageError(f"{path}: {_TABLE} takes Python 3.11 or later to read.") from None
    try:
        table = toml.loads(data.decode())
        for key in ("tool", "disttranspile", "launch"):
            table = table.get(key, {})
    except (ValueError, AttributeError) as error:
        raise click.UsageError(f"{path}: cannot be read: {error}.") from error
    if not isinstance(table, Mapping):
        raise click.UsageError(f"{path}: {_TABLE} is no table.")
    return table
