"""Writing a file whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat


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


def _replace(target: str, data: bytes, existing: os.stat_result | None, new_mode: int) -> None:
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
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _keep_owner(path: str, existing: os.stat_result) -> None:
    """Matters to an administrator alone: others own what they replace, or may not give it away."""
    created = os.stat(path)
    if (created.st_uid, created.st_gid) != (existing.st_uid, existing.st_gid):
        with contextlib.suppress(OSError, AttributeError):
            os.chown(path, existing.st_uid, existing.st_gid)
