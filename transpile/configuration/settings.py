"""What holds for one script, and where that is said."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from transpile.configuration.files import File, nearest, read
from transpile.configuration.patterns import below, is_pattern, matches, wrong_pattern
from transpile.records import dataclass, field

#: The keys about a whole run that the command takes as they are, with what holds without them.
RUN_CHOICES: Mapping[str, Any] = {
    "output-format": "text",
    "quiet": False,
    "annotate": False,
    "force-exclude": False,
    "respect-gitignore": True,
    "jobs": None,
}
#: All keys about a whole run.
RUN_OPTIONS = ("select", "ignore", "exclude", "baseline", "cache-dir", *RUN_CHOICES)
#: The keys that are no option of the conversion.
RUN_KEYS = (*RUN_OPTIONS, "roles", "launch", "script")
SCRIPT_KEYS = ("source", "output", "launch")


@dataclass(frozen=True)
class Said:
    """A value and the table that says it."""

    value: Any
    where: str


@dataclass(frozen=True)
class Pair:
    """A script and the output that is kept up to date with it.

    Args:
        source: the script.
        output: the file, or the folder of a project, that its conversion goes to.
        number: the position of its table in the file, from 0.
        targets: what the output is launched with.
        is_folder: the output is a folder for the whole project.
    """

    source: Path
    output: Path
    number: int
    targets: tuple[str, ...] = ()
    is_folder: bool = False


@dataclass(frozen=True)
class Settings:
    """What holds for one script.

    Args:
        file: where it is said; None where nothing is.
        options: those of the conversion, by their keys.
        launch: the choices about a job, by their keys.
        run: those about a whole run, by their keys.
        select: the codes of the findings that count; empty for all.
        ignore: those that do not.
        roles: names of in-house code to the known names that they stand for.
        apart: names of in-house models that keep the samples of a batch apart.
        excluded: the script is left out of folders.
        output: where its conversion goes; None where that is not said.
    """

    file: File | None = None
    options: Mapping[str, Said] = field(default_factory=dict)
    launch: Mapping[str, Said] = field(default_factory=dict)
    run: Mapping[str, Said] = field(default_factory=dict)
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    roles: Mapping[str, str] = field(default_factory=dict)
    apart: tuple[str, ...] = ()
    excluded: bool = False
    output: Said | None = None

    @property
    def cache_folder(self) -> Path | None:
        """Where what is said of unchanged scripts is kept; None where that is not said."""
        if self.file is None or "cache-dir" not in self.file.table:
            return None
        return self.file.folder / str(self.file.table["cache-dir"])

    @property
    def targets(self) -> tuple[str, ...]:
        """What the output is launched with, which files for it are kept up to date beside it."""
        said = self.launch.get("targets")
        return () if said is None else _texts(said.value)


class Project:
    """The configuration of the scripts of one run.

    Args:
        chosen: the one file that holds for all of them; None for the nearest to each.
        isolated: no file counts.
    """

    def __init__(self, chosen: str | None = None, *, isolated: bool = False) -> None:
        self._chosen = chosen
        self._isolated = isolated
        self._known: dict[Path, File | None] = {}

    def file_for(self, folder: str) -> File | None:
        """The file that holds for the scripts of a folder.

        Raises:
            UnreadableError: it cannot be read.
        """
        if self._isolated:
            return None
        if self._chosen is None:
            return nearest(folder, self._known)
        path = Path(os.path.abspath(self._chosen))
        if path not in self._known:
            self._known[path] = read(path)
        return self._known[path]

    def settings(self, script: str, output: str | None = None) -> Settings:
        """What holds for a script.

        Args:
            script: its path.
            output: where its conversion goes, which tells apart the tables of one script.

        Raises:
            UnreadableError: a file cannot be read.
        """
        file = self.file_for(os.path.dirname(script))
        return Settings() if file is None else settings_in(file, script, output)


def settings_in(file: File, script: str, output: str | None = None) -> Settings:
    """What a file says for one script; tables further down win."""
    name = file.name or file.path.name
    options = {key: Said(value, name) for key, value in file.table.items() if key not in RUN_KEYS}
    launch = {key: Said(value, _of_launch(name)) for key, value in _table(file.table, "launch")}
    found: Said | None = None
    for number, table in _for_script(file, script, output):
        where = script_table(file, number)
        options |= {key: Said(value, where) for key, value in table.items()
                    if key not in SCRIPT_KEYS}  # fmt: skip
        launch |= {key: Said(value, f"{where} launch") for key, value in _table(table, "launch")}
        if "output" in table:
            found = Said(file.folder / table["output"], where)
    return Settings(
        file,
        options,
        launch,
        {key: Said(file.table[key], name) for key in RUN_OPTIONS if key in file.table},
        tuple(file.table.get("select", ())),
        tuple(file.table.get("ignore", ())),
        *roles_in(file),
        matches(script, file.folder, file.table.get("exclude", ())),
        found,
    )


def roles_in(file: File) -> tuple[dict[str, str], tuple[str, ...]]:
    """The names of in-house code with what they stand for, and those that keep samples apart."""
    said = file.table.get("roles", {})
    apart = tuple(name for name, known in said.items() if not isinstance(known, str))
    return {name: known for name, known in said.items() if isinstance(known, str)}, apart


def pairs(file: File) -> Sequence[Pair]:
    """The scripts whose output is kept up to date, in the order of their tables."""
    return [
        Pair(
            file.folder / table["source"],
            file.folder / table["output"],
            number,
            _texts(dict([*_table(file.table, "launch"), *_table(table, "launch")]).get("targets")),
            table["output"].endswith("/"),
        )
        for number, table in enumerate(file.table.get("script", ()))
        if "output" in table
    ]


def script_table(file: File, number: int) -> str:
    """How a person finds the table of a script in the file."""
    path = ".".join(filter(None, (file.name.strip("[]"), "script")))
    return f"[[{path}]] no. {number + 1}"


def contradiction(file: File) -> str:
    """Why the tables of scripts make no sense together; empty where they do."""
    wrong = wrong_pattern(file.table.get("exclude", ()))
    if wrong is not None:
        return f"exclude: {wrong!r} is no pattern as .gitignore has them."
    taken: dict[str, int] = {}
    for number, table in enumerate(file.table.get("script", ())):
        output, source = table.get("output"), table["source"]
        where = script_table(file, number)
        if not source.strip("./") or wrong_pattern([source]) is not None:
            return f"{where} source: {source!r} is neither a script nor a pattern."
        if output is None:
            continue
        if not output.endswith((".py", "/")):
            return f"{where} output: {output!r} is neither a script (.py) nor a folder (a slash)."
        if is_pattern(table["source"]):
            return f"{where} output: a source that may be several scripts has none."
        place = os.path.normpath(output)
        if place in taken:
            return f"{where} output: no. {taken[place] + 1} goes to {output}, too."
        if os.path.normpath(table["source"]) == place:
            return f"{where} output: it is the source itself."
        taken[place] = number
    return ""


def _for_script(file: File, script: str, output: str | None) -> list[tuple[int, Mapping[str, Any]]]:
    """The tables that hold for a script: of several with an output, the one that is asked for."""
    found = [
        (number, table)
        for number, table in enumerate(file.table.get("script", ()))
        if _is_source(file, table["source"], script) or _is_output(file, table, script)
    ]
    with_output = [pair for pair in found if "output" in pair[1]]
    own = [pair for pair in with_output if _is_output(file, pair[1], script)]
    place = os.path.abspath(output) if output is not None else None
    same = [
        pair for pair in with_output if os.path.abspath(file.folder / pair[1]["output"]) == place
    ]
    chosen = same or own or (with_output if len(with_output) == 1 else [])
    return [pair for pair in found if "output" not in pair[1] or pair in chosen]


def _is_source(file: File, source: str, script: str) -> bool:
    if is_pattern(source):
        return matches(script, file.folder, [f"/{source}" if "/" in source else source])
    place = below(script, file.folder)
    return place == os.path.normpath(source).replace(os.sep, "/")


def _is_output(file: File, table: Mapping[str, Any], script: str) -> bool:
    """Whether a script is the output of a table, which says then how it is launched."""
    return "output" in table and os.path.abspath(script) == os.path.abspath(
        file.folder / table["output"]
    )


def _table(table: Mapping[str, Any], key: str) -> list[tuple[str, Any]]:
    return list(table.get(key, {}).items())


def _of_launch(name: str) -> str:
    return f"{name[:-1]}.launch]" if name.endswith("]") else f"{name} [launch]"


def _texts(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    return tuple(map(str, value)) if isinstance(value, list) else (str(value),)
