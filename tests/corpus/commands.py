"""The commands file: which scripts are run, and how."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Command:
    """How one script is run.

    Args:
        script: repository and path, as in the table.
        arguments: its arguments.
        folder: which folder of the repository is copied for the runs; all of it by default.
        start: where in the repository it starts; the script's own folder by default.
        prepare: shell lines that make data or shorten the script, run there before.
    """

    script: str
    arguments: tuple[str, ...]
    folder: str
    start: str
    prepare: str

    @property
    def name(self) -> str:
        """What to call it in reports."""
        return " ".join((self.script, *self.arguments))

    @property
    def repository(self) -> str:
        """Name of the repository."""
        return self.script.split("/", 1)[0]

    @property
    def path(self) -> str:
        """The script's path in the repository."""
        return self.script.split("/", 1)[1]


def read_commands(path: Path) -> list[Command]:
    """Read a commands file: a JSON list of objects with the fields of `Command`.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is no such list.
    """
    said = json.loads(path.read_text("utf-8"))
    if not isinstance(said, list):
        raise ValueError(f"{path}: not a list of commands")
    return [command(fields) for fields in said]


def command(fields: object) -> Command:
    """One command from its JSON.

    Raises:
        ValueError: fields are missing, unknown or of another type.
    """
    if not isinstance(fields, dict):
        raise ValueError(f"not a command: {fields!r}")
    unknown = fields.keys() - {"script", "arguments", "folder", "start", "prepare"}
    if unknown:
        raise ValueError(f"unknown fields of a command: {', '.join(sorted(unknown))}")
    if not all(isinstance(value, str) for value in fields.values()):
        raise ValueError(f"the fields of a command are texts: {fields!r}")
    script = fields.get("script", "")
    repository, _, path = script.partition("/")
    if not repository or not path:
        raise ValueError(f"a command's script is REPOSITORY/PATH, not {script!r}")
    folder = fields.get("folder", ".")
    start = fields.get("start", Path(path).parent.as_posix())
    for inner in (path, start):
        if not Path(inner).is_relative_to(folder):
            raise ValueError(f"{script}: {inner} is not in the folder {folder}")
    return Command(
        script,
        tuple(shlex.split(fields.get("arguments", ""))),
        folder,
        start,
        fields.get("prepare", ""),
    )


def chosen(commands: Iterable[Command], texts: Iterable[str]) -> list[Command]:
    """The commands whose names hold one of the texts; all where there are none."""
    texts = list(texts)
    return [
        command for command in commands if not texts or any(text in command.name for text in texts)
    ]
