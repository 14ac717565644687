"""The command ``disttranspile launch``."""

from __future__ import annotations

import os
import sys
from typing import Any, get_args

import click
from click.core import ParameterSource

from transpile.cli.inputs import STANDARD_STREAM
from transpile.cli.launching.launch_files import (
    LaunchFile,
    LaunchFileError,
    check_writable,
    write,
)
from transpile.cli.launching.launch_options import MODES, launch_options
from transpile.cli.launching.launch_request import LaunchRequest
from transpile.cli.launching.launch_script import facts_of_script
from transpile.cli.launching.launch_settings import option_words
from transpile.cli.project.options import configuration_options
from transpile.cli.targets import is_folder
from transpile.cli.terminal import put, tell, wants_colour
from transpile.finding import Level
from transpile.launch import targets
from transpile.launch.roles import Framework
from transpile.records import dataclass, replace

_LOOK = 1


@click.command(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="All of these but --target, -o and --force can stand under [tool.disttranspile.launch] "
    "in the pyproject.toml of the script's project, or [launch] in its disttranspile.toml, the "
    "script's arguments as script-arguments.  "
    "Exit status: 0 where the files are written, 1 where they are and there is a warning, 2 where "
    "they cannot be.",
)
@click.argument("script", type=click.Path(exists=True, dir_okay=False))
@click.argument("script_arguments", nargs=-1, metavar="[-- SCRIPT ARGUMENTS]")
@click.option(
    "--target",
    type=click.Choice(list(targets())),
    required=True,
    multiple=True,
    help="What the script is started with; may be repeated.",
)
@click.option("-o", "--output", metavar="FILE|DIR/|-", help="Write there, not beside the script.")
@click.option("--force", is_flag=True, help="Overwrite a file that holds something else.")
@click.option(
    "--framework",
    type=click.Choice(["auto", *get_args(Framework)]),
    help="What the script trains with.  [default: what it imports]",
)
@click.option(
    "--mode",
    type=click.Choice(MODES),
    help="Whether workers of paddle and fluid exchange gradients with each other or with parameter "
    "servers.  [default: what a script of fluid does; collective for paddle]",
)
@launch_options
@configuration_options
@click.pass_context
def command(
    context: click.Context,
    /,
    script: str,
    script_arguments: tuple[str, ...],
    target: tuple[str, ...],
    output: str | None,
    force: bool,
    **choices: Any,
) -> int:
    """Write the files that start the converted SCRIPT, beside it.

    What stands after -- goes to the script whenever it is started.
    """
    request = LaunchRequest(context, tuple(dict.fromkeys(target)), script_arguments)
    place = Place(script, output)
    try:
        facts = facts_of_script(script, request.framework(script))
        launch = request.launch(script, facts, _output_words(context), place.script_from_files)
        files = place.files(launch.files(place.folder))
    except ValueError as error:
        raise click.UsageError(f"{error}.") from error
    tell(f"Total: {launch.total}\n")
    if launch.findings:
        from transpile.report.text import render_findings

        tell(render_findings(launch.findings, colour=wants_colour(sys.stderr)))
    level = max((finding.level for finding in launch.findings), default=Level.NOTE)
    status = _LOOK if level >= Level.WARNING else 0
    if output == STANDARD_STREAM:
        put(b"".join(file.data for file in files))
        return status
    try:
        check_writable(files, force=force)
        write(files)
    except LaunchFileError as error:
        raise click.UsageError(f"{error}. {error.advice}".rstrip()) from error
    for file in files:
        tell(f"{file.path}\n")
    return status


def _output_words(context: click.Context) -> list[str]:
    if context.get_parameter_source("output") is not ParameterSource.COMMANDLINE:
        return []
    return option_words("--output", str(context.params["output"]))


@dataclass(frozen=True)
class Place:
    """Where launch files go.

    Args:
        script: the script that they start.
        output: a file, a folder, ``-`` for standard output, or None for the script's folder.
    """

    script: str
    output: str | None

    @property
    def folder(self) -> str:
        """The folder of the files."""
        if self.output is None:
            return os.path.dirname(self.script)
        if self.output == STANDARD_STREAM:
            return ""
        return self.output if is_folder(self.output) else os.path.dirname(self.output)

    @property
    def script_from_files(self) -> str:
        """The script as it is found from the files."""
        if self.output is None:
            return os.path.basename(self.script)
        return (
            self.script if self.output == STANDARD_STREAM else _seen_from(self.folder, self.script)
        )

    def files(self, files: list[LaunchFile]) -> list[LaunchFile]:
        """The files under the name that the user gave, where it is one.

        Raises:
            ValueError: there are several.
        """
        if self.output is None or self.output == STANDARD_STREAM or is_folder(self.output):
            return files
        if len(files) > 1:
            raise ValueError("several files need a folder as output: -o FOLDER/")
        return [replace(files[0], path=self.output)]


def _seen_from(folder: str, script: str) -> str:
    """The script's path from a folder; an absolute one stays, where it is in another folder."""
    home, name = os.path.split(script)
    here, there = os.path.realpath(folder), os.path.realpath(home)
    if here == there:
        return name
    return script if os.path.isabs(script) else os.path.join(os.path.relpath(there, here), name)
