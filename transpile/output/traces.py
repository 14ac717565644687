"""Where a run that writes leaves its journal, and where others look for it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

#: The journal's name in the folder that holds all files of a run.
JOURNAL = ".disttranspile-journal"


def journals_around(paths: Iterable[str]) -> list[str]:
    """The journals in the folders of some files and in all folders above them."""
    folders: dict[str, None] = {}
    for path in paths:
        for start in (os.path.dirname(os.path.abspath(path)), os.path.dirname(_real(path))):
            folder = start
            while folder not in folders:
                folders[folder] = None
                folder = os.path.dirname(folder)
    found = (os.path.join(folder, JOURNAL) for folder in folders)
    return [journal for journal in found if os.path.lexists(journal)]


def journals_below(folder: str) -> Iterator[str]:
    """The journals in a folder and below it."""
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        if JOURNAL in files:
            yield os.path.join(os.path.abspath(parent), JOURNAL)


def _real(path: str) -> str:
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return os.path.abspath(path)
