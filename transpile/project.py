"""The modules of the project that a script belongs to, found beside it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from transpile.facts.module import Module
from transpile.source import Source, SourceError, read_source

#: A module larger than this is no training code worth following.
LARGEST_MODULE = 2_000_000


class Project:
    """Finds and reads the modules beside an entry script; nothing outside its folder is opened.

    Args:
        entry: the script.
        folder: where its imports are looked up; None where the script has no place on disk.
        read: reads a file's bytes; raises OSError.
    """

    def __init__(
        self,
        entry: Source,
        folder: Path | None,
        read: Callable[[Path], bytes] = Path.read_bytes,
    ) -> None:
        self.entry = Module("__main__", entry)
        self._folder = folder
        self._read = read
        self._found: dict[str, Module | None] = {}
        self.unreadable: list[tuple[str, str]] = []

    def find(self, dotted: str, importer: Module) -> Module | None:
        """The project's module of that name as `importer` sees it; None where there is none."""
        name = absolute_name(dotted, importer)
        if name is None or self._folder is None:
            return None
        if name not in self._found:
            self._found[name] = self._load(name)
        return self._found[name]

    def _load(self, name: str) -> Module | None:
        folder = self._folder
        if folder is None or not name:
            return None
        parts = name.split(".")
        if not all(part.isidentifier() for part in parts):
            return None
        base = folder.joinpath(*parts)
        for path, is_package in ((base / "__init__.py", True), (base.with_suffix(".py"), False)):
            try:
                if not path.is_file() or path.stat().st_size > LARGEST_MODULE:
                    continue
                if folder.resolve() not in path.resolve().parents:
                    continue
                source = read_source(self._read(path), str(path))
            except OSError as error:
                self.unreadable.append((str(path), error.strerror or "cannot be read"))
                return None
            except SourceError as error:
                self.unreadable.append((str(path), error.message))
                return None
            return Module(name, source, is_package)
        return None


def absolute_name(dotted: str, importer: Module) -> str | None:
    """The dotted name from the script's folder; None for a relative import that leaves it."""
    stripped = dotted.lstrip(".")
    level = len(dotted) - len(stripped)
    if level == 0:
        return dotted
    if importer.is_entry:
        return stripped if level == 1 else None
    package = importer.name.split(".")
    if not importer.is_package:
        package = package[:-1]
    up = level - 1
    if up > len(package):
        return None
    kept = package[: len(package) - up]
    return ".".join([*kept, stripped] if stripped else kept)
