"""What git ignores, and therefore no folder gives."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from transpile.configuration.patterns import wrong_pattern
from transpile.reading import read_regular

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_FILE = ".gitignore"


class Ignored:
    """Tells which files and folders the ``.gitignore`` files around them name.

    Args:
        folder: where the search begins; those of the repository above it count, too, unless they
            ignore the folder itself, which is asked for all the same.
    """

    def __init__(self, folder: str) -> None:
        self._specs: dict[str, GitIgnoreSpec | None] = {}
        self._root = _root_of(os.path.abspath(folder))
        if self.names(folder, is_folder=True):
            self._root = os.path.abspath(folder)

    def names(self, path: str, *, is_folder: bool = False) -> bool:
        """Whether git ignores a file or a folder, in a folder that it does not ignore."""
        absolute = os.path.abspath(path)
        for parent in self._folders_of(absolute):
            spec = self._spec_in(parent)
            if spec is not None:
                relative = os.path.relpath(absolute, parent).replace(os.sep, "/")
                verdict = spec.check_file(f"{relative}/" if is_folder else relative).include
                if verdict is not None:
                    return verdict
        return False

    def _folders_of(self, path: str) -> Iterator[str]:
        """The folders of the repository above a path, the nearest first."""
        folder = os.path.dirname(path)
        while True:
            yield folder
            parent = os.path.dirname(folder)
            if folder == self._root or parent == folder:
                return
            folder = parent

    def _spec_in(self, folder: str) -> GitIgnoreSpec | None:
        if folder not in self._specs:
            self._specs[folder] = _read(os.path.join(folder, _FILE))
        return self._specs[folder]


def _read(path: str) -> GitIgnoreSpec | None:
    if not os.path.isfile(path):
        return None
    try:
        lines = read_regular(path).decode("utf-8", "replace").splitlines()
    except OSError:
        return None
    from pathspec import GitIgnoreSpec

    try:
        return GitIgnoreSpec.from_lines(lines)
    except (ValueError, re.error):
        # As git does: what means nothing names nothing.
        return GitIgnoreSpec.from_lines(line for line in lines if wrong_pattern([line]) is None)


def _root_of(folder: str) -> str:
    """The root of the repository that holds a folder; the folder itself where there is none."""
    parent = folder
    while True:
        if os.path.lexists(os.path.join(parent, ".git")):
            return parent
        above = os.path.dirname(parent)
        if above == parent:
            return folder
        parent = above
