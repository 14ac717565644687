"""Undoing what a killed run has left."""

from __future__ import annotations

import contextlib
import os

from transpile.output.files import content_is, stage
from transpile.output.journal import (
    Entry,
    Journal,
    decode,
)
from transpile.output.lock import JournalError, Lock, create, take
from transpile.output.traces import JOURNAL

#: Each time another run may be the first to write.
_TRIES = 1000


def is_mixed(path: str) -> bool:
    """Whether a killed run has left old files beside new ones; nothing is written.

    Raises:
        JournalError: the run is under way still, or what it has left cannot be told.
        OSError: a file cannot be read.
    """
    taken = take(path)
    if taken is None:
        return False
    lock, data = taken
    try:
        journal = decode(data, path)
        if journal is None:
            return False
        old, new, other = states(journal)
        return bool(new and (old or other))
    finally:
        lock.release()


def recover(path: str) -> list[str]:
    """Put every file back to what it was before a killed run, and delete what that run has left.

    Where the run had put all its files in place, they stay.

    Returns:
        the files that were put back.

    Raises:
        JournalError: the run is under way still, or its files were changed since.
        OSError: a file cannot be written.
    """
    taken = take(path)
    if taken is None:
        return []
    lock, data = taken
    try:
        journal = decode(data, path)
        return undo(journal, lock) if journal is not None else clean(Journal(()), lock)
    finally:
        lock.release()


def claim(folder: str | None) -> Lock:
    """Make the journal of a run in a folder; one that a killed run has left is made up for first.

    Raises:
        JournalError: another run is writing here, or was killed and cannot be undone.
        OSError: the journal cannot be written.
    """
    if folder is None:
        return Lock("", -1)
    path = os.path.join(folder, JOURNAL)
    for _ in range(_TRIES):
        lock = create(path)
        if lock is not None:
            return lock
        recover(path)
    raise JournalError(path, "cannot be taken from another run", "Try again.")


def undo(journal: Journal, lock: Lock) -> list[str]:
    """Put the files of a run back, and end its journal.

    Raises:
        JournalError: files were changed since.
        OSError: a file cannot be written.
    """
    old, new, other = states(journal)
    if other:
        names = ", ".join(entry.target for entry in other)
        if new:
            converted = ", ".join(entry.target for entry in new)
            raise JournalError(
                lock.path,
                f"tells of a run that was killed, after which {names} changed: converted is "
                f"{converted} alone",
                "Put the project back by hand, from version control, and delete the journal, "
                "which holds the old contents.",
            )
        # Nothing is converted: what the user has made of the files since stays.
    if not new or not (old or other):
        clean(journal, lock)
        return []
    for entry in reversed(new):
        put_back(entry)
    clean(journal, lock)
    return [entry.target for entry in new]


def put_back(entry: Entry) -> None:
    """Give a file the content that it had before a run."""
    if entry.before is None:
        os.unlink(entry.target)
        return
    with contextlib.suppress(FileNotFoundError):
        os.unlink(entry.temporary)
    stage(entry.temporary, entry.target, entry.before, os.stat(entry.target), 0)
    os.replace(entry.temporary, entry.target)


def clean(journal: Journal, lock: Lock) -> list[str]:
    """Delete the temporary files and the empty folders of a run, and last its journal."""
    for entry in journal.entries:
        with contextlib.suppress(OSError):
            os.unlink(entry.temporary)
    for folder in reversed(journal.folders):
        with contextlib.suppress(OSError):
            os.rmdir(folder)
    lock.remove()
    return []


def states(journal: Journal) -> tuple[list[Entry], list[Entry], list[Entry]]:
    """The files of a run that are as before, those that are as it wanted, and the others."""
    old: list[Entry] = []
    new: list[Entry] = []
    other: list[Entry] = []
    for entry in journal.entries:
        if content_is(entry.target, entry.before):
            old.append(entry)
            continue
        (new if content_is(entry.target, entry.after) else other).append(entry)
    return old, new, other
