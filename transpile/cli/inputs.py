"""Reading what the user names, however odd it is."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from transpile.reading import LARGEST, UnsuitableFile, read_with_mode
from transpile.records import dataclass

if TYPE_CHECKING:
    from transpile.notebook import Notebook

STANDARD_STREAM = "-"
NOTEBOOK = ".ipynb"
STANDARD_INPUT_NAME = "<stdin>"
MAXIMUM_BYTES = LARGEST
_NEW_FILE_MODE = 0o666
# Folders that hold other people's code or none.
_SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules", "site-packages"})


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
        notebook: the notebook that the bytes are the script of; None for a script.
    """

    data: bytes
    mode: int
    notebook: Notebook | None = None


def find_scripts(folder: str, *, respect_gitignore: bool = True) -> Iterator[Input]:
    """Yield the Python files below `folder` in the order of their names.

    Hidden folders, virtual environments and installed packages are left out, and what git ignores.
    A folder that cannot be listed comes as an input with that problem.
    """
    from transpile.cli.project.ignored import Ignored

    ignored = Ignored(folder) if respect_gitignore else None
    unlisted: list[OSError] = []
    for parent, folders, files in os.walk(folder, onerror=unlisted.append):
        folders[:] = sorted(
            name
            for name in folders
            if not _is_skipped(parent, name)
            and not (ignored and ignored.names(os.path.join(parent, name), is_folder=True))
        )
        for name in sorted(files):
            path = os.path.join(parent, name)
            if name.endswith(".py") and os.path.isfile(path):
                if ignored and ignored.names(path):
                    continue
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
        if script.is_standard_input:
            return _script_in(script, _read_standard_input())
        return _script_in(script, Content(*read_with_mode(script.path, MAXIMUM_BYTES)))
    except UnsuitableFile as error:
        raise InputError(_unsuitable(script.path, error)) from error
    except FileNotFoundError as error:
        from transpile.cli.astray_words import meant_file

        near = meant_file(script.path)
        hint = f"; did you mean {near}?" if near else ""
        raise InputError(f"cannot be read: {error.strerror}{hint}") from error
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise InputError(f"cannot be read: {error}") from error


def _script_in(script: Input, content: Content) -> Content:
    """A notebook as a script; anything else as it is."""
    if not script.path.endswith(NOTEBOOK) and content.data.lstrip()[:1] != b"{":
        return content
    from transpile.notebook import NotebookError, is_notebook, read_notebook

    if not is_notebook(script.path, content.data):
        return content
    try:
        notebook = read_notebook(content.data)
    except NotebookError as error:
        raise InputError(str(error)) from error
    return Content(notebook.text.encode("utf-8", "surrogatepass"), content.mode, notebook)


def _read_standard_input() -> Content:
    if sys.stdin is None:
        raise InputError("cannot be read: closed")
    data = sys.stdin.buffer.read(MAXIMUM_BYTES + 1)
    if len(data) > MAXIMUM_BYTES:
        raise InputError(f"is larger than {MAXIMUM_BYTES // 1024**2} MiB and so no script")
    return Content(data, _NEW_FILE_MODE)


def _unsuitable(path: str, error: UnsuitableFile) -> str:
    if os.path.isdir(path):
        return "is a folder, which --check, --diff, --in-place and -o FOLDER/ take"
    reason = error.strerror or "is no regular file"
    return f"{reason} and so no script" if "larger" in reason else f"{reason}, not a script"
