"""Writing a file, or several together, whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass


def read_existing(path: str) -> bytes | None:
    """Return the content of the regular file at `path`, None where there is none.

    Raises:
        OSError: it cannot be read.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return None
        with open(path, "rb") as stream:
            return stream.read()
    except FileNotFoundError:
        return None


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
        _replace(os.path.realpath(path), data, existing, new_mode)
    elif stat.S_ISCHR(existing.st_mode) or stat.S_ISFIFO(existing.st_mode):
        with open(path, "wb") as stream:
            stream.write(data)
    else:
        raise OSError("not a regular file")


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


def write_together(contents: Sequence[NewContent]) -> None:
    """Give several files their contents, or leave all of them as they are.

    All temporary files are complete before the first is renamed; where a renaming fails, those
    before it are undone.

    Raises:
        OSError: one of them cannot be written.
    """
    staged: list[tuple[str, str, bytes | None]] = []
    folders: list[str] = []
    renamed = 0
    try:
        for content in contents:
            target = os.path.realpath(content.path)
            _make_folders(os.path.dirname(target), folders)
            before = read_existing(target)
            existing = os.stat(target) if before is not None else None
            if existing is None and os.path.lexists(target):
                raise OSError("not a regular file")
            temporary = _stage(target, content.data, existing, content.new_mode)
            staged.append((temporary, target, before))
        for temporary, target, _ in staged:
            os.replace(temporary, target)
            renamed += 1
    except BaseException:
        for _, target, before in reversed(staged[:renamed]):
            with contextlib.suppress(OSError):
                if before is None:
                    os.unlink(target)
                else:
                    write_atomically(target, before)
        for temporary, _, _ in staged[renamed:]:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        for folder in reversed(folders):
            with contextlib.suppress(OSError):
                os.rmdir(folder)
        raise


def _make_folders(folder: str, made: list[str]) -> None:
    """Make a folder with those above it, and note the new ones, outermost first."""
    if folder and not os.path.isdir(folder):
        _make_folders(os.path.dirname(folder), made)
        os.mkdir(folder)
        made.append(folder)


def _replace(target: str, data: bytes, existing: os.stat_result | None, new_mode: int) -> None:
    temporary = _stage(target, data, existing, new_mode)
    try:
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _stage(target: str, data: bytes, existing: os.stat_result | None, new_mode: int) -> str:
    """Write a temporary file beside a target, as the target shall be, and return its path."""
    if existing is not None and not os.access(target, os.W_OK):
        raise PermissionError("write-protected")
    mode = new_mode if existing is None else stat.S_IMODE(existing.st_mode)
    folder = os.path.dirname(target)
    temporary = os.path.join(folder, f".disttranspile-{os.urandom(8).hex()}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(temporary, flags, stat.S_IMODE(mode) & 0o777)
    try:
        with open(descriptor, "wb") as stream:
            stream.write(data)
        if existing is not None:
            _keep_owner(temporary, existing)
            os.chmod(temporary, mode)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    return temporary


def _keep_owner(path: str, existing: os.stat_result) -> None:
    """Matters to an administrator alone: others own what they replace, or may not give it away."""
    created = os.stat(path)
    if (created.st_uid, created.st_gid) != (existing.st_uid, existing.st_gid):
        with contextlib.suppress(OSError, AttributeError):
            os.chown(path, existing.st_uid, existing.st_gid)
