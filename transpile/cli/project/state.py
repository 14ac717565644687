"""What ``disttranspile sync`` has written, so that edits by hand can be told from old outputs."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from transpile.reading import read_regular

LOCK = "disttranspile.lock"
_FORMAT = 1
_NEW_FILE_MODE = 0o666


class StateError(Exception):
    """The file cannot be read or written; the message is one line."""


class State:
    """The files that were written for each pair, by the digests of their contents.

    Args:
        path: the file that holds them.
        outputs: for the output of each pair, each file below the folder of `path` and its digest.
    """

    def __init__(self, path: Path, outputs: Mapping[str, Mapping[str, str]]) -> None:
        self._path = path
        self._outputs = {output: dict(files) for output, files in outputs.items()}

    @classmethod
    def read(cls, path: Path) -> State:
        """Read the file; nothing was written yet where there is none.

        Raises:
            StateError: it cannot be read or is none of ours.
        """
        if not os.path.lexists(path):
            return cls(path, {})
        try:
            document: Any = json.loads(read_regular(path))
            if document["format"] != _FORMAT:
                raise StateError(f"{path}: has the format {document['format']}, not {_FORMAT}")
            return cls(path, {name: dict(files) for name, files in document["outputs"].items()})
        except OSError as error:
            raise StateError(f"{path}: cannot be read: {error.strerror}") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise StateError(f"{path}: is damaged; sync makes it anew without it") from error

    def wrote(self, output: Path, path: str, data: bytes) -> bool:
        """Whether a file holds what was written for an output."""
        return self._outputs.get(self._name(output), {}).get(self._name(path)) == digest(data)

    def note(self, output: Path, files: Mapping[str, bytes]) -> None:
        """Remember what was written for an output."""
        self._outputs[self._name(output)] = {
            self._name(path): digest(data) for path, data in sorted(files.items())
        }

    def write(self, outputs: Iterable[str]) -> bool:
        """Write the file, without outputs that are no longer configured; whether it has changed.

        Raises:
            StateError: it cannot be written.
        """
        from transpile.output.files import read_existing
        from transpile.output.together import write_atomically

        kept = {self._name(output) for output in outputs}
        found = {name: files for name, files in sorted(self._outputs.items()) if name in kept}
        document = {"format": _FORMAT, "outputs": found}
        data = f"{json.dumps(document, indent=1)}\n".encode()
        path = os.fspath(self._path)
        try:
            existing = read_existing(path)
            if existing == data or (existing is None and not found):
                return False
            write_atomically(path, data, new_mode=_NEW_FILE_MODE)
        except OSError as error:
            raise StateError(f"{path}: cannot be written: {error.strerror}") from error
        return True

    def _name(self, path: str | Path) -> str:
        return os.path.relpath(path, self._path.parent).replace(os.sep, "/")


def digest(data: bytes) -> str:
    """Return the SHA-256 of a content."""
    return hashlib.sha256(data).hexdigest()
