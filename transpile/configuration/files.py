"""Finding and reading the file that holds for a script: the nearest one in its folder or above."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from transpile.reading import read_regular
from transpile.records import dataclass

OWN_FILE = "disttranspile.toml"
SHARED_FILE = "pyproject.toml"
_TABLE = "tool.disttranspile"


class UnreadableError(Exception):
    """A file that cannot be read; the message is one line that names it."""


@dataclass(frozen=True)
class File:
    """A configuration as it was read.

    Args:
        path: the file; paths in it are relative to its folder.
        table: what it holds.
        name: how messages call the table; empty where it is the whole file.
    """

    path: Path
    table: Mapping[str, Any]
    name: str

    @property
    def folder(self) -> Path:
        """The folder that its paths start at."""
        return self.path.parent


def nearest(folder: str, known: dict[Path, File | None]) -> File | None:
    """Return the configuration for the scripts of a folder; None where there is none.

    ``disttranspile.toml`` wins over the ``pyproject.toml`` beside it; one without a table of ours
    is passed over.

    Args:
        folder: where the script is.
        known: what was read before; it grows.

    Raises:
        UnreadableError: a file on the way cannot be read or is no TOML.
    """
    start = Path(os.path.abspath(folder or os.curdir))
    for parent in (start, *start.parents):
        for name in (OWN_FILE, SHARED_FILE):
            path = parent / name
            if path not in known:
                known[path] = read(path) if path.is_file() else None
            found = known[path]
            if found is not None:
                return found
    return None


def read(path: Path) -> File | None:
    """Return what a file holds; None for a ``pyproject.toml`` without a table of ours.

    Raises:
        UnreadableError: it cannot be read or is no TOML.
    """
    own = path.name != SHARED_FILE
    try:
        data = read_regular(path)
    except OSError as error:
        raise UnreadableError(f"{path}: cannot be read: {error.strerror}") from error
    if not own and b"disttranspile" not in data:
        return None
    try:
        document = _toml().loads(data.decode())
    except ValueError as error:
        raise UnreadableError(f"{path}: cannot be read: {error}") from error
    table: Any = document
    for key in () if own else _TABLE.split("."):
        table = table.get(key) if isinstance(table, Mapping) else None
    if table is None:
        return None
    name = "" if own else f"[{_TABLE}]"
    if not isinstance(table, Mapping):
        raise UnreadableError(f"{path}: {name} is no table")
    return File(path, table, name)


def _toml() -> Any:
    try:
        return import_module("tomllib")
    except ImportError:
        return import_module("tomli")
