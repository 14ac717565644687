"""The options that every command has which looks at the scripts of a project."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Function = TypeVar("Function", bound=Callable[..., Any])

_CONFIGURATION = (
    click.option(
        "--config",
        type=click.Path(exists=True, dir_okay=False),
        metavar="FILE",
        help="Take the configuration from there.  [default: the nearest disttranspile.toml or "
        "pyproject.toml of each script]",
    ),
    click.option("--isolated", is_flag=True, help="Look at no configuration."),
)
_FINDINGS = (
    click.option(
        "--select",
        multiple=True,
        metavar="CODE,...",
        help="Tell of these findings alone: codes, or beginnings of codes such as PT4.",
    ),
    click.option("--ignore", multiple=True, metavar="CODE,...", help="Do not tell of these."),
    click.option(
        "--baseline",
        type=click.Path(dir_okay=False),
        metavar="FILE",
        help="Do not tell of the warnings and errors that this file has.",
    ),
    click.option(
        "--write-baseline",
        is_flag=True,
        help="Write what is found into the baseline, so that later runs tell of what is new.",
    ),
    click.option(
        "--exclude",
        multiple=True,
        metavar="PATTERN",
        help="Leave out of folders what this names, as .gitignore has it; may be repeated.",
    ),
    click.option(
        "--force-exclude/--no-force-exclude",
        default=None,
        help="Leave out what is excluded though it is named itself, as by a hook.",
    ),
    click.option(
        "--respect-gitignore/--no-gitignore",
        default=None,
        help="Whether what git ignores is left out of folders.  [default: it is]",
    ),
    click.option(
        "-j",
        "--jobs",
        type=click.IntRange(min=1),
        metavar="N",
        help="How many scripts to look at at a time.  [default: one on each core]",
    ),
    click.option(
        "--no-cache",
        is_flag=True,
        envvar="DISTTRANSPILE_NO_CACHE",
        help="Neither use nor keep what earlier runs said of the same files.",
    ),
    click.option(
        "--cache-dir",
        type=click.Path(file_okay=False),
        envvar="DISTTRANSPILE_CACHE_DIR",
        metavar="DIR",
        help="Where --check and audit keep what they said of unchanged files.  [default: a folder "
        "of the user's cache]",
    ),
    click.option(
        *("-q", "--quiet/--no-quiet"), default=None, help="Tell of warnings and errors alone."
    ),
)


def findings_options(function: Function) -> Function:
    """Give a command the options about which findings of which files count."""
    for option in reversed((*_FINDINGS, *_CONFIGURATION)):
        function = option(function)
    return function


def configuration_options(function: Function) -> Function:
    """Give a command the options about its configuration."""
    for option in reversed(_CONFIGURATION):
        function = option(function)
    return function


def complete_files(context: click.Context, parameter: Any, incomplete: str) -> list[Any]:
    """Leave it to the shell to complete the name of a file."""
    from click.shell_completion import CompletionItem

    return [] if incomplete.startswith("-") else [CompletionItem(incomplete, type="file")]
