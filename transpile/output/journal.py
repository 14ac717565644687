"""The journal of a run that writes: what each file held, and where its new content waits.

It stands in the folder that holds all files of the run before the first of them is touched, and
goes once the last is in place. A run that finds one knows that another was killed in between, or
is under way still: that one holds a lock on it.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Sequence
from typing import Any

from transpile.output.lock import JournalError
from transpile.records import dataclass

_VERSION = 1


@dataclass(frozen=True)
class Entry:
    """One file of a run.

    Args:
        target: the file.
        temporary: where its new content is staged.
        before: what it held; None where it was not there.
        after: what it shall hold.
    """

    target: str
    temporary: str
    before: bytes | None
    after: bytes


@dataclass(frozen=True)
class Journal:
    """What a run is about to do.

    Args:
        entries: its files, in the order in which they are put in place.
        folders: the folders that it makes, outermost first.
    """

    entries: tuple[Entry, ...]
    folders: tuple[str, ...] = ()


def folder_of(targets: Sequence[str]) -> str | None:
    """The folder for the journal of a run that writes these files; None where there is none.

    That is the one which holds them all: whoever looks around one of them finds it there.
    """
    try:
        folder = os.path.commonpath([os.path.dirname(target) for target in targets])
    except ValueError:
        return None
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    return folder if os.access(folder, os.W_OK | os.X_OK) else None


def encode(journal: Journal, folder: str) -> bytes:
    """The text of a journal that stands in `folder`."""

    def below(path: str) -> str:
        return os.path.relpath(path, folder)

    entries = [
        {
            "target": below(entry.target),
            "temporary": below(entry.temporary),
            "before": entry.before,
            "after": entry.after,
        }
        for entry in journal.entries
    ]
    folders = [below(path) for path in journal.folders]
    document = {"version": _VERSION, "entries": entries, "folders": folders}
    return f"{document!a}\n".encode()


def decode(data: bytes, path: str) -> Journal | None:
    """What a journal says; None where its writing was cut short, so that nothing else began.

    Raises:
        JournalError: it is no journal of this tool, or names files outside its folder.
    """
    if not data.endswith(b"\n"):
        return None
    folder = os.path.dirname(path)
    try:
        document: dict[str, Any] = ast.literal_eval(data.decode())
        if document["version"] != _VERSION:
            raise ValueError
        entries = tuple(
            Entry(
                _inside(each["target"], folder),
                _inside(each["temporary"], folder),
                None if each["before"] is None else _content(each["before"]),
                _content(each["after"]),
            )
            for each in document["entries"]
        )
        folders = tuple(_inside(each, folder) for each in document["folders"])
    except (ValueError, TypeError, KeyError, SyntaxError, MemoryError) as error:
        raise JournalError(
            path, "is not a journal that this version has written", "Look at it, and delete it."
        ) from error
    return Journal(entries, folders)


def _content(value: object) -> bytes:
    if not isinstance(value, bytes):
        raise TypeError(value)
    return value


def _inside(name: str, folder: str) -> str:
    """A path of a journal; files outside its folder are none that a run was to write.

    Raises:
        ValueError: it leads out of the folder.
    """
    path = os.path.join(folder, name)
    real = os.path.realpath(os.path.dirname(path))
    base = os.path.realpath(folder)
    if os.path.isabs(name) or os.path.commonpath([real, base]) != base:
        raise ValueError(name)
    return path
