"""Launch files on the disk."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

_EXECUTABLE_MODE = 0o755
_PLAIN_MODE = 0o644


class LaunchFileError(Exception):
    """A launch file cannot be written.

    Args:
        path: the file.
        message: why, in one line.
        advice: what to do about it.
    """

    def __init__(self, path: str, message: str, advice: str = "") -> None:
        super().__init__(f"{path}: {message}")
        self.path = path
        self.message = message
        self.advice = advice


@dataclass(frozen=True)
class LaunchFile:
    """A file that starts a script: where it goes, and what it holds."""

    path: str
    data: bytes

    @property
    def mode(self) -> int:
        """The permission bits that it gets: those of a program where it is a shell script."""
        return _EXECUTABLE_MODE if self.data.startswith(b"#!") else _PLAIN_MODE


def as_argument(path: str) -> str:
    """Return `path` such that it is not taken for an option."""
    return os.path.join(os.curdir, path) if path.startswith("-") else path


def check_writable(files: Iterable[LaunchFile], *, force: bool) -> None:
    """Look for what is in the way of `files`.

    Raises:
        LaunchFileError: a file exists, holds something else, and `force` is not given; or it cannot
            be read.
    """
    from transpile.output.files import read_existing

    for file in files:
        try:
            existing = read_existing(file.path)
        except OSError as error:
            raise _unwritable(file, error) from error
        if existing and existing != file.data and not force:
            raise LaunchFileError(
                file.path,
                "exists and holds something else than what would be written",
                "Overwrite it with --force.",
            )


def write(files: Iterable[LaunchFile]) -> None:
    """Write `files`, each whole or not at all.

    Raises:
        LaunchFileError: one cannot be written.
    """
    from transpile.output.files import read_existing
    from transpile.output.together import write_atomically

    for file in files:
        try:
            if read_existing(file.path) != file.data:
                write_atomically(file.path, file.data, new_mode=file.mode)
        except OSError as error:
            raise _unwritable(file, error) from error


def _unwritable(file: LaunchFile, error: OSError) -> LaunchFileError:
    return LaunchFileError(file.path, f"cannot be written: {error.strerror or error}")
