"""Reading what the user names, however odd it is."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass

STANDARD_STREAM = "-"
STANDARD_INPUT_NAME = "<stdin>"
MAXIMUM_BYTES = 16 * 1024 * 1024
_NEW_FILE_MODE = 0o666
# Folders that hold other people's code or none.
_SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules", "site-packages"})
_KINDS = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class InputError(Exception):
    """An input that cannot be read; the message is one line."""


@dataclass(frozen=True)
class Input:
    """One script that the user asks for.

    Args:
        path: as the user named it, or as it was found below a folder; ``-`` for standard input.
        from_folder: it was found below a folder.
        below: its path below that folder, with slashes.
        problem: why it cannot be read, where that is known already.
    """

    path: str
    from_folder: bool = False
    problem: str = ""
    below: str = ""

    @property
    def is_standard_input(self) -> bool:
        """Whether it is read from standard input."""
        return self.path == STANDARD_STREAM

    @property
    def name(self) -> str:
        """What reports call it."""
        return STANDARD_INPUT_NAME if self.is_standard_input else self.path


@dataclass(frozen=True)
class Content:
    """What was read.

    Args:
        data: the bytes.
        mode: the permission bits of the file.
    """

    data: bytes
    mode: int


def find_scripts(folder: str) -> Iterator[Input]:
    """Yield the Python files below `folder` in the order of their names.

    Hidden folders, virtual environments and installed packages are left out. A folder that cannot
    be listed comes as an input with that problem.
    """
    unlisted: list[OSError] = []
    for parent, folders, files in os.walk(folder, onerror=unlisted.append):
        folders[:] = sorted(name for name in folders if not _is_skipped(parent, name))
        for name in sorted(files):
            path = os.path.join(parent, name)
            if name.endswith(".py") and os.path.isfile(path):
                below = os.path.relpath(path, folder).replace(os.sep, "/")
                yield Input(path, from_folder=True, below=below)
    for error in unlisted:
        problem = f"cannot be listed: {error.strerror}"
        yield Input(os.fspath(error.filename), from_folder=True, problem=problem)


def _is_skipped(parent: str, name: str) -> bool:
    if name.startswith(".") or name in _SKIPPED_FOLDERS:
        return True
    return os.path.exists(os.path.join(parent, name, "pyvenv.cfg"))


def read(script: Input) -> Content:
    """Return what `script` holds.

    Raises:
        InputError: it is no regular file, cannot be read, or is too large to be a script.
    """
    if script.problem:
        raise InputError(script.problem)
    try:
        content = _read_standard_input() if script.is_standard_input else _read_file(script.path)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise InputError(f"cannot be read: {error}") from error
    if len(content.data) > MAXIMUM_BYTES:
        raise InputError(f"is larger than {MAXIMUM_BYTES // 1024**2} MiB and so no script")
    return content


def _read_standard_input() -> Content:
    if sys.stdin is None:
        raise InputError("cannot be read: closed")
    return Content(sys.stdin.buffer.read(MAXIMUM_BYTES + 1), _NEW_FILE_MODE)


def _read_file(path: str) -> Content:
    # Without O_NONBLOCK the opening of a named pipe waits for a writer.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    _refuse_special(os.stat(path).st_mode)
    descriptor = os.open(path, flags)
    with open(descriptor, "rb") as stream:
        mode = os.fstat(descriptor).st_mode
        _refuse_special(mode)
        return Content(stream.read(MAXIMUM_BYTES + 1), stat.S_IMODE(mode))


def _refuse_special(mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise InputError("is a folder, which --check, --diff, --in-place and -o FOLDER/ take")
    for is_kind, kind in _KINDS:
        if is_kind(mode):
            raise InputError(f"is {kind}, not a script")
