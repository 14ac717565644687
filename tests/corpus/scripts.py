"""Where the scripts of a repository are."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_LEFT_OUT = frozenset({"__pycache__", "node_modules", "site-packages", "build", "dist"})


@dataclass(frozen=True)
class Script:
    """One file of a repository; `path` is relative to its `root`, with slashes."""

    root: Path
    path: str

    @property
    def repository(self) -> str:
        """Name of the repository's folder."""
        return self.root.name

    @property
    def name(self) -> str:
        """Repository and path."""
        return f"{self.repository}/{self.path}"

    @property
    def file(self) -> Path:
        """The file itself."""
        return self.root / self.path


def scripts_below(roots: Iterable[Path]) -> list[Script]:
    """Every Python file below the folders, each folder a repository, in the order of names."""
    found = []
    for root in roots:
        for folder, folders, files in os.walk(root):
            folders[:] = [name for name in folders if name not in _LEFT_OUT and name[0] != "."]
            for file in files:
                path = Path(folder, file)
                if path.suffix == ".py" and path.is_file():
                    found.append(Script(root, path.relative_to(root).as_posix()))
    return sorted(found, key=lambda script: script.name)


def repositories(folders: Iterable[str]) -> list[Path]:
    """The folders given, resolved.

    Raises:
        ValueError: one is no folder, or two have the same name.
    """
    roots = [Path(folder).resolve() for folder in folders]
    for root in roots:
        if not root.is_dir():
            raise ValueError(f"{root} is no folder")
    names = [root.name for root in roots]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two of the folders are called {name}")
    return roots
