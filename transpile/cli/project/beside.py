"""Whether the conversion of a script stands beside it already, so that nobody need convert it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from transpile.cli import codes
from transpile.cli.inputs import Input, InputError, read
from transpile.cli.job import Task
from transpile.cli.kept import Kept
from transpile.cli.kept_results import converted
from transpile.configuration.settings import Settings
from transpile.finding import Finding, Level
from transpile.options import Options
from transpile.reading import read_regular
from transpile.result import Outcome, ProjectFile, Result

# What people call an output, where the configuration does not say it.
_NAMES = ("{}_dist.py", "{}_distributed.py", "{}_ddp.py", "dist_{}.py")


def stands_beside(kept: Kept, task: Task, result: Result) -> Finding | None:
    """Return what there is to say of the conversion of a script that is there already.

    A note where it is there and as it would be made now, or distributed in its own way; a warning
    where the configuration pairs it with the script and it is no longer up to date; None where
    there is none.
    """
    path = task.script.path
    if task.script.is_standard_input:
        return None
    paired = _paired(task.settings, path, result)
    if paired is not None:
        output, is_same = paired
        if is_same:
            return _note(path, f"its conversion is {os.path.relpath(output)}")
        message = f"its conversion, {os.path.relpath(output)}, is not up to date"
        advice = "write it anew with disttranspile sync"
        return Finding(codes.CONVERTED_BESIDE, Level.WARNING, path, 0, 0, message, advice)
    if any(not module.helpers for module in result.changed_modules):
        return None
    for other in _others(path, len(result.data)):
        if _holds(other, result.data):
            return _note(path, f"its conversion is {os.path.relpath(other)}")
    return _converted_otherwise(kept, path)


def _paired(settings: Settings, path: str, result: Result) -> tuple[Path, bool] | None:
    """The output that the configuration names, where it is there, and whether it is up to date."""
    output = settings.output.value if settings.output is not None else None
    if not isinstance(output, Path) or os.path.abspath(path) == os.path.abspath(output):
        return None
    if not output.is_dir():
        return (output, _holds(output, result.data)) if output.exists() else None
    place = result.place or os.path.basename(path)
    script = output.joinpath(*place.split("/"))
    modules = (_has(output.joinpath(*one.place.split("/")), one) for one in result.modules)
    return (script, _holds(script, result.data) and all(modules)) if script.exists() else None


def _others(path: str, size: int) -> Iterator[Path]:
    """The other scripts in a folder that are as long as a conversion."""
    folder, name = os.path.split(path)
    try:
        with os.scandir(folder or os.curdir) as found:
            for entry in sorted(found, key=lambda entry: entry.name):
                if entry.name.endswith(".py") and entry.name != name and entry.is_file():
                    if entry.stat().st_size == size:
                        yield Path(entry.path)
    except OSError:
        return


def _converted_otherwise(kept: Kept, path: str) -> Finding | None:
    """A script beside, under the name of an output, that is distributed in its own way."""
    from transpile.text.decoding import SourceError

    stem = Path(path).stem
    for form in _NAMES:
        other = Path(path).with_name(form.format(stem))
        if not other.is_file():
            continue
        try:
            script = Input(os.fspath(other))
            found = converted(kept, script, read(script), Options())
        except (InputError, SourceError):
            continue
        if found.outcome is Outcome.UNCHANGED and any(
            one.code == "DT003" for one in found.findings
        ):
            return _note(
                path,
                f"{other.name} beside it is distributed, but is not what a conversion makes now",
                "give the two a [[tool.disttranspile.script]] for disttranspile sync to watch them",
            )
    return None


def _has(path: Path, module: ProjectFile) -> bool:
    """Whether a file holds a module; with helpers, perhaps those of other scripts, too."""
    if not module.helpers:
        return _holds(path, module.data)
    from transpile.helpers.text import united

    try:
        before = read_regular(path)
        return united(before, module.data, module.helpers, replaces=False) == before
    except (OSError, ValueError):
        return False


def _holds(path: Path, data: bytes) -> bool:
    try:
        return read_regular(path) == data
    except OSError:
        return False


def _note(path: str, message: str, advice: str = "") -> Finding:
    return Finding(codes.CONVERTED_BESIDE, Level.NOTE, path, 0, 0, message, advice)
