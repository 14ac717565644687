"""One file: reading what is there, and the temporary file that takes its place."""

from __future__ import annotations

import contextlib
import os
import stat

from transpile.reading import UnsuitableFile, read_regular


def read_existing(path: str) -> bytes | None:
    """Return the content of the regular file at `path`, None where there is none.

    Raises:
        UnsuitableFile: it is too large.
        OSError: it cannot be read.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return None
        return read_regular(path)
    except FileNotFoundError:
        return None


def stage(
    temporary: str, target: str, data: bytes, existing: os.stat_result | None, new_mode: int
) -> None:
    """Write a temporary file beside a target, as the target shall be.

    Raises:
        OSError: it cannot be written, or the target is write-protected; no file is left.
    """
    if existing is not None and not os.access(target, os.W_OK):
        raise PermissionError("write-protected")
    mode = new_mode if existing is None else stat.S_IMODE(existing.st_mode)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(temporary, flags, stat.S_IMODE(mode) & 0o777)
    try:
        with open(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        if existing is not None:
            _keep_owner(temporary, existing)
            os.chmod(temporary, mode)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def content_is(path: str, data: bytes | None) -> bool:
    """Whether a file holds certain bytes; whether there is none where those are None."""
    try:
        return read_existing(path) == data and (data is not None or not os.path.lexists(path))
    except UnsuitableFile:
        return False


def _keep_owner(path: str, existing: os.stat_result) -> None:
    """Matters to an administrator alone: others own what they replace, or may not give it away."""
    created = os.stat(path)
    if (created.st_uid, created.st_gid) != (existing.st_uid, existing.st_gid):
        with contextlib.suppress(OSError, AttributeError):
            os.chown(path, existing.st_uid, existing.st_gid)
