"""The command ``disttranspile config``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from transpile.cli.project.options import complete_files, configuration_options
from transpile.cli.project.settings import ProjectSettings, conversion_options
from transpile.cli.terminal import put
from transpile.configuration.settings import RUN_CHOICES, RUN_OPTIONS, Said, Settings, pairs


@click.command(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit status: 0, or 2 where the configuration holds what it should not.",
)
@click.argument("files", nargs=-1, metavar="[FILE]...", shell_complete=complete_files)
@configuration_options
def command(files: tuple[str, ...], config: str | None, isolated: bool) -> int:
    """Say what holds for a script, and which table of which file says so.

    Without FILE, the whole configuration of the current folder is checked, and what it says of all
    scripts and its pairs of script and output are listed.
    """
    project = ProjectSettings(config, isolated=isolated)
    if not files:
        put("".join(_overview(project)).encode("utf-8", "backslashreplace"))
    for number, script in enumerate(files):
        lines = [*([""] if number else []), *_lines(script, project.of(script))]
        put("".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace"))
    return 0


def _overview(project: ProjectSettings) -> Iterator[str]:
    file = project.file_for(os.curdir)
    if file is None:
        yield "no configuration: there is no disttranspile.toml, and no pyproject.toml with a\n"
        yield "table [tool.disttranspile], in this folder or above\n"
        return
    yield f"{file.path}: nothing wrong\n"
    settings = project.of(os.path.join(os.curdir, ""))
    said = {
        key: one
        for key, one in (*settings.options.items(), *settings.run.items())
        if one.where == _top(settings)
    }
    for line in _table([*_said(said), *_further(settings)]):
        yield f"{line}\n"
    for pair in pairs(file):
        targets = f" ({', '.join(pair.targets)})" if pair.targets else ""
        yield f"  {os.path.relpath(pair.source)} -> {os.path.relpath(pair.output)}{targets}\n"


def _lines(script: str, settings: Settings) -> Iterator[str]:
    there = "" if os.path.lexists(script) else " (there is no such file)"
    yield f"{script}{there}: {settings.file.path if settings.file else 'no configuration'}"
    rows = [
        *(_row(key, option, settings) for key, option in conversion_options().items()),
        *_said({key: _of_run(key, settings) for key in RUN_OPTIONS}),
        *_further(settings),
    ]
    if settings.output is not None:
        rows.append(("output", os.path.relpath(settings.output.value), settings.output.where))
    if settings.excluded:
        rows.append(("excluded", True, _top(settings)))
    yield from _table(rows)


def _table(rows: Sequence[tuple[str, Any, str]]) -> Iterator[str]:
    names = max((len(name) for name, _, _ in rows), default=0)
    texts = [(name, _text(value), where) for name, value, where in rows]
    values = max((len(text) for _, text, _ in texts), default=0)
    for name, text, where in texts:
        yield f"  {name:{names}}  {text:{values}}  {where}"


def _said(table: Mapping[str, Said]) -> Iterator[tuple[str, Any, str]]:
    return ((key, said.value, said.where) for key, said in table.items())


def _further(settings: Settings) -> Iterator[tuple[str, Any, str]]:
    """What is said of jobs and of in-house code."""
    yield from _said({f"launch.{key}": said for key, said in settings.launch.items()})
    for name, known in settings.roles.items():
        yield f'roles."{name}"', known, _top(settings)
    for name in settings.apart:
        yield f'roles."{name}"', "samples apart", _top(settings)


def _of_run(key: str, settings: Settings) -> Said:
    return settings.run.get(key) or Said(RUN_CHOICES.get(key), "default")


def _row(key: str, option: click.Option, settings: Settings) -> tuple[str, Any, str]:
    said = settings.options.get(key)
    if said is not None:
        return key, said.value, said.where
    return key, False if option.is_flag and not option.default else option.default, "default"


def _top(settings: Settings) -> str:
    assert settings.file is not None
    return settings.file.name or settings.file.path.name


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    return "-" if value is None or not isinstance(value, (str, int, float)) else str(value)
