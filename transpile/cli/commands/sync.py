"""The command ``disttranspile sync``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from transpile.cli.project.options import complete_files, configuration_options
from transpile.cli.project.settings import ProjectSettings
from transpile.cli.project.state import LOCK, State, StateError
from transpile.cli.terminal import put, tell
from transpile.configuration.files import File
from transpile.configuration.settings import Pair, pairs

_DONE = 0
_LOOK = 1


@click.command(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit status: 0 where every output was up to date; 1 where one was written, or was "
    "edited by hand; 2 on wrong usage, and where something cannot be read or written; 3 where a "
    "script is refused.",
)
@click.argument("scripts", nargs=-1, metavar="[SCRIPT]...", shell_complete=complete_files)
@click.option("--check", is_flag=True, help="Write nothing; the exit status tells.")
@click.option("--force", is_flag=True, help="Overwrite outputs that were edited by hand.")
@configuration_options
def command(
    scripts: tuple[str, ...], check: bool, force: bool, config: str | None, isolated: bool
) -> int:
    """Keep outputs up to date with their scripts, as the configuration pairs them.

    Every [[tool.disttranspile.script]] with an output is converted anew, with what starts it, and
    written where its script, its options or this tool have changed. An output that was edited by
    hand is left as it is. What was written stands in disttranspile.lock, which belongs into the
    repository. With SCRIPT, only the pairs of these scripts are looked at.
    """
    file = ProjectSettings(config, isolated=isolated).file_for(os.curdir)
    chosen = _chosen(file, scripts)
    if file is None or not chosen:
        tell("no pairs: give a [[tool.disttranspile.script]] in pyproject.toml an output\n")
        return _DONE
    from transpile.cli.project.pairs import Synchroniser

    try:
        state = State.read(file.folder / LOCK)
        synchroniser = Synchroniser(file, state, check=check, force=force)
        with _in_folder(file.folder):
            status = max(map(synchroniser.run, chosen))
        if not check and state.write({os.path.normpath(one.output) for one in pairs(file)}):
            tell(f"{LOCK}: written, to be committed with the outputs\n")
            status = max(status, _LOOK)
    except StateError as error:
        raise click.UsageError(f"{error}.") from error
    put(_summary(synchroniser.counts).encode())
    return status


def _chosen(file: File | None, scripts: Sequence[str]) -> list[Pair]:
    """The pairs of the scripts that are named, or all.

    Raises:
        click.UsageError: a script has none.
    """
    known = pairs(file) if file is not None else []
    if not scripts:
        return list(known)
    wanted = {os.path.abspath(script): script for script in scripts}
    missing = [wanted[one] for one in wanted if one not in {str(_absolute(p)) for p in known}]
    if missing:
        raise click.UsageError(f"{missing[0]}: no table of the configuration has its output.")
    return [pair for pair in known if str(_absolute(pair)) in wanted]


@contextmanager
def _in_folder(folder: Path) -> Iterator[None]:
    """Go to a folder: launch files name the command that makes them, with paths from there."""
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _absolute(pair: Pair) -> Path:
    return Path(os.path.abspath(pair.source))


def _summary(counts: dict[str, int]) -> str:
    return ", ".join(_words(counts)) + "\n"


def _words(counts: dict[str, int]) -> Iterator[str]:
    for word, number in counts.items():
        if number:
            yield f"{number} {word}"
