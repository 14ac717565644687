"""Launch files on the disk."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transpile.launch.job import Job

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


def files_beside(script: str, targets: Iterable[str]) -> tuple[LaunchFile, ...]:
    """Return what the targets make for `script` by default, as ``disttranspile launch`` does."""
    return tuple(
        file
        for target in targets
        for file in launch_files(target, default_job(script, target), os.path.dirname(script))
    )


def default_job(script: str, target: str) -> Job:
    """Return the job of `script`, beside which the launch files go, without any choice."""
    from transpile.launch.job import Job

    command = ("disttranspile", "launch", as_argument(script), "--target", target)
    return Job(script=os.path.basename(script), command=command)


def as_argument(path: str) -> str:
    """Return `path` such that it is not taken for an option."""
    return os.path.join(os.curdir, path) if path.startswith("-") else path


def launch_files(target: str, job: Job, folder: str) -> Iterator[LaunchFile]:
    """Yield the files that `target` makes of `job`, in `folder`."""
    from transpile.launch import targets

    for path, text in targets()[target](job).items():
        yield LaunchFile(os.path.join(folder, path), os.fsencode(text))


def check_writable(files: Iterable[LaunchFile], *, force: bool) -> None:
    """Look for what is in the way of `files`.

    Raises:
        LaunchFileError: a file exists, holds something else, and `force` is not given; or it cannot
            be read.
    """
    from transpile.output import read_existing

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
    from transpile.output import read_existing, write_atomically

    for file in files:
        try:
            if read_existing(file.path) != file.data:
                write_atomically(file.path, file.data, new_mode=file.mode)
        except OSError as error:
            raise _unwritable(file, error) from error


def _unwritable(file: LaunchFile, error: OSError) -> LaunchFileError:
    return LaunchFileError(file.path, f"cannot be written: {error.strerror or error}")
