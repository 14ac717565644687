"""Reading files: regular ones alone, and no more of them than a script or its settings can need.

A folder may hold named pipes that nobody writes to, devices that never end and files that do not
fit into memory. Everything that is read passes through here, so that none of them hangs a run.
"""

from __future__ import annotations

import errno
import os
import stat

from transpile import asking

#: More than any script, module or settings file has.
LARGEST = 16 * 1024 * 1024
_KINDS = (
    (stat.S_ISDIR, "is a folder"),
    (stat.S_ISFIFO, "is a named pipe"),
    (stat.S_ISSOCK, "is a socket"),
    (stat.S_ISCHR, "is a device"),
    (stat.S_ISBLK, "is a device"),
)


class UnsuitableFile(OSError):
    """A file that is there and may be read, but is not one to read.

    Args:
        reason: why, to follow its name.
        path: the file.
    """

    def __init__(self, reason: str, path: str | os.PathLike[str]) -> None:
        super().__init__(errno.EINVAL, reason, os.fspath(path))


def read_regular(path: str | os.PathLike[str], largest: int = LARGEST) -> bytes:
    """Return what a regular file holds.

    Args:
        path: the file; links are followed.
        largest: how many bytes it may have.

    Raises:
        UnsuitableFile: it is a folder, a pipe, a socket or a device, or is larger.
        OSError: it cannot be read.
    """
    return read_with_mode(path, largest)[0]


def read_with_mode(path: str | os.PathLike[str], largest: int = LARGEST) -> tuple[bytes, int]:
    """Return what a regular file holds, and its permission bits.

    Raises:
        UnsuitableFile: it is a folder, a pipe, a socket or a device, or is larger.
        OSError: it cannot be read.
    """
    try:
        data, mode = _read(path, largest)
    except OSError as error:
        asking.note("bytes", path, asking.failure(error))
        raise
    asking.note_bytes(path, data)
    return data, mode


def _read(path: str | os.PathLike[str], largest: int) -> tuple[bytes, int]:
    # The opening of some devices does something already; that of a pipe waits for a writer.
    _check_kind(path, os.stat(path).st_mode)
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with open(os.open(path, flags), "rb") as stream:
        found = os.fstat(stream.fileno())
        _check_kind(path, found.st_mode)
        data = stream.read(largest + 1) if found.st_size <= largest else None
    if data is None or len(data) > largest:
        raise UnsuitableFile(f"is larger than {largest // 1024**2} MiB", path)
    return data, stat.S_IMODE(found.st_mode)


def read_text(path: str | os.PathLike[str], largest: int = LARGEST) -> str:
    """Return the text of a regular file in UTF-8, its line ends as line feeds.

    Raises:
        UnsuitableFile: it is a folder, a pipe, a socket or a device, or is larger.
        OSError: it cannot be read.
        UnicodeDecodeError: it is no text in UTF-8.
    """
    return read_regular(path, largest).decode("utf-8").replace("\r\n", "\n")


def _check_kind(path: str | os.PathLike[str], mode: int) -> None:
    if not stat.S_ISREG(mode):
        kinds = (reason for is_kind, reason in _KINDS if is_kind(mode))
        raise UnsuitableFile(next(kinds, "is no regular file"), path)
