"""Writing several files: all of them, or none."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Sequence

from transpile.output.files import read_existing, stage
from transpile.output.journal import Entry, Journal, encode, folder_of
from transpile.output.recovery import claim, clean, put_back
from transpile.records import dataclass


@dataclass(frozen=True)
class NewContent:
    """What a file is to hold.

    Args:
        path: the file; folders that are missing are made.
        data: its content.
        new_mode: permission bits of a file that did not exist, less the user's mask.
    """

    path: str
    data: bytes
    new_mode: int = 0o666


def write_atomically(path: str, data: bytes, *, new_mode: int = 0o666) -> None:
    """Give the file at `path` the content `data`, so that nobody ever sees half of it.

    A temporary file beside the target takes the data and is then renamed. The permissions of a file
    that exists are kept, symbolic links are written through, and a character device or a pipe is
    written to, because renaming would replace it.

    Args:
        path: the file; its folder must exist.
        data: its new content.
        new_mode: permission bits of a file that did not exist, less the user's mask.

    Raises:
        OSError: it cannot be written; the target is as it was and the temporary file is gone.
    """
    try:
        existing = os.stat(path)
    except FileNotFoundError:
        existing = None
    if existing is None or stat.S_ISREG(existing.st_mode):
        os.stat(os.path.dirname(os.path.realpath(path)))
        write_together([NewContent(path, data, new_mode)])
    elif stat.S_ISCHR(existing.st_mode) or stat.S_ISFIFO(existing.st_mode):
        with open(path, "wb") as stream:
            stream.write(data)
    else:
        raise OSError("not a regular file")


def write_together(contents: Sequence[NewContent]) -> None:
    """Give several files their contents, or leave all of them as they are.

    A journal tells what each file held before any is touched, and all temporary files are complete
    before the first is renamed, in the order given. Where a renaming fails, those before it are
    undone; where the process is killed, the next run that finds the journal undoes them.

    Raises:
        JournalError: another run is writing here, or was killed and cannot be undone.
        OSError: one of the files cannot be written.
    """
    if not contents:
        return
    targets = [os.path.realpath(content.path) for content in contents]
    folder = folder_of(targets)
    lock = claim(folder)
    try:
        journal = _planned(targets, contents)
        if folder is not None:
            lock.write(encode(journal, folder))
    except BaseException:
        lock.remove()
        raise
    placed: list[Entry] = []
    try:
        for folder in journal.folders:
            with contextlib.suppress(FileExistsError):
                os.mkdir(folder)
        for entry, content in zip(journal.entries, contents, strict=True):
            existing = os.stat(entry.target) if entry.before is not None else None
            stage(entry.temporary, entry.target, content.data, existing, content.new_mode)
        for entry in journal.entries:
            os.replace(entry.temporary, entry.target)
            placed.append(entry)
    except BaseException:
        try:
            for entry in reversed(placed):
                put_back(entry)
        except OSError:
            # The next run tries again.
            lock.release()
        else:
            clean(journal, lock)
        raise
    lock.remove()


def _planned(targets: Sequence[str], contents: Sequence[NewContent]) -> Journal:
    """What is about to be written, and what is there.

    Raises:
        OSError: something that is no regular file is in the way.
    """
    entries: list[Entry] = []
    missing: dict[str, None] = {}
    for target, content in zip(targets, contents, strict=True):
        before = read_existing(target)
        if before is None and os.path.lexists(target):
            raise OSError("not a regular file")
        beside = os.path.dirname(target)
        temporary = os.path.join(beside, f".disttranspile-{os.urandom(8).hex()}.tmp")
        entries.append(Entry(target, temporary, before, content.data))
        missing.update(dict.fromkeys(_missing_folders(beside)))
    return Journal(tuple(entries), tuple(missing))


def _missing_folders(folder: str) -> list[str]:
    """The folders on the way to this one that are to be made, outermost first."""
    if not folder or os.path.isdir(folder):
        return []
    return [*_missing_folders(os.path.dirname(folder)), folder]
