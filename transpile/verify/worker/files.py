"""Sees every change that a rank makes to the file system."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from transpile.verify.worker.journal import Journal

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_IGNORED_FOLDERS = frozenset({"__pycache__"})


class PathLabels:
    """Names for paths that are the same in every run, though each has its own folder.

    Args:
        working_directory: paths are named relative to it.
        folders: folders that belong to the job, with the prefix that names paths below them; an
            empty prefix stands for names relative to the working directory.
    """

    def __init__(self, working_directory: Path, folders: Mapping[str, str]) -> None:
        self._working_directory = os.path.realpath(working_directory)
        self._folders = [(os.path.realpath(path), prefix) for path, prefix in folders.items()]

    def label(self, path: Any) -> str | None:
        """The name of a path; None where it lies outside the job's folders."""
        if isinstance(path, int) or path is None:
            return None
        try:
            resolved = os.path.realpath(os.fsdecode(path))
        except (TypeError, ValueError, OSError):
            return None
        for folder, prefix in self._folders:
            if resolved == folder or resolved.startswith(folder + os.sep):
                start = folder if prefix else self._working_directory
                relative = os.path.relpath(resolved, start).replace(os.sep, "/")
                if _IGNORED_FOLDERS.intersection(relative.split("/")):
                    return None
                return prefix + relative
        return None


class FileObserver:
    """Watches the interpreter's audit events of opening, making, renaming and removing.

    Args:
        journal: where the changes are recorded.
        labels: names of paths.
        directories: directories that existed when the run started. Ranks that make one at the
            same time all count, whoever is first; one that was there already is no change.
    """

    def __init__(self, journal: Journal, labels: PathLabels, directories: frozenset[str]) -> None:
        self._journal = journal
        self._labels = labels
        self._directories = directories
        self._seen: set[tuple[str, str, str]] = set()
        self._active = True

    def install(self) -> None:
        """Start watching; an audit hook stays for the life of the process."""
        handlers: dict[str, Callable[[tuple[Any, ...]], None]] = {
            "open": self._on_open,
            "os.mkdir": self._on_mkdir,
            "os.rename": lambda args: self._touched("rename", args[1]),
            "os.remove": lambda args: self._on_remove("remove", args),
            "os.rmdir": lambda args: self._on_remove("rmdir", args),
            "os.link": lambda args: self._touched("link", args[1]),
            "os.symlink": lambda args: self._touched("symlink", args[1]),
            "os.truncate": lambda args: self._touched("truncate", args[0]),
            "shutil.rmtree": lambda args: self._touched("rmtree", args[0]),
            "sqlite3.connect": lambda args: self._touched("connect", args[0]),
        }

        def hook(event: str, args: tuple[Any, ...]) -> None:
            handler = handlers.get(event)
            if handler is not None and self._active and self._journal.own_process:
                handler(args)

        sys.addaudithook(hook)

    def saved(self, path: Any) -> str | None:
        """Record that `path` is written by other means than Python's files; gives its name."""
        self._touched("save", path)
        return self._labels.label(path)

    def finish(self) -> None:
        """Stop watching."""
        self._active = False

    def _on_open(self, args: tuple[Any, ...]) -> None:
        path, mode, flags = args
        writes = bool(flags & _WRITING) if isinstance(flags, int) and flags else False
        if isinstance(mode, str):
            writes = writes or bool(set(mode) & set("wax+"))
        if writes:
            self._touched("open", path)

    def _on_mkdir(self, args: tuple[Any, ...]) -> None:
        label = self._labels.label(args[0])
        if label is not None and os.path.realpath(os.fsdecode(args[0])) not in self._directories:
            self._record(label, "directory", "mkdir")

    def _on_remove(self, how: str, args: tuple[Any, ...]) -> None:
        # Names relative to an open directory come from `rmtree`, which has its own event.
        if args[1] == -1:
            self._touched(how, args[0])

    def _touched(self, how: str, path: Any) -> None:
        label = self._labels.label(path)
        if label is not None:
            self._record(label, "file", how)

    def _record(self, label: str, touch: str, how: str) -> None:
        if (label, touch, how) not in self._seen:
            self._seen.add((label, touch, how))
            self._journal.write("write", path=label, touch=touch, how=how)
