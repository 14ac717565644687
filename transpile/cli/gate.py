"""Telling, without parsing, which files of a folder cannot be training scripts."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

from transpile.reading import read_regular
from transpile.records import dataclass
from transpile.text.import_words import imported_words


@dataclass(frozen=True)
class _File:
    """What the gate wants to know of a file: whether it names a framework, and what it imports."""

    names_framework: bool
    imports: tuple[str, ...] = ()


class Gate:
    """Lets through what names a framework, or imports through its project what does.

    It looks at words, so it lets too much through rather than too little.

    Args:
        packages: the top-level packages of the frameworks.
    """

    def __init__(self, packages: Iterable[str]) -> None:
        words = "|".join(sorted(map(re.escape, packages)))
        self._framework = re.compile(rf"\b(?:{words})\b")
        self._files: dict[str, _File | None] = {}
        # By folder: whether the modules of these names reach a framework.
        self._known: dict[str, dict[str, bool]] = {}

    def lets_through(self, path: str) -> bool:
        """Whether the file at `path` may be a training script; one that cannot be read may."""
        folder = os.path.dirname(path)
        file = self._look(path)
        if file is None:
            return True
        return file.names_framework or self._reaches(folder, file)

    def _reaches(self, folder: str, file: _File) -> bool:
        """Whether a file imports, through others, too, what names a framework.

        Everything that it imports is looked at to the end and has its answer from then on, so that
        files that import each other are looked at once, however many of them are asked for.
        """
        known = self._known.setdefault(folder, {})
        importers: dict[str, list[str]] = {}
        seen: set[str] = set()
        reaching: list[str] = []
        # The file itself goes by the empty name.
        pending = [("", set(_targets(file, "", False)))]
        while pending:
            importer, targets = pending.pop()
            for name in targets:
                importers.setdefault(name, []).append(importer)
                if name in known:
                    if known[name]:
                        reaching.append(name)
                elif name not in seen:
                    seen.add(name)
                    modules = list(self._modules(folder, name))
                    if any(module.names_framework for _, module in modules):
                        reaching.append(name)
                    else:
                        imported = {
                            target
                            for is_package, module in modules
                            for target in _targets(module, name, is_package)
                        }
                        pending.append((name, imported))
        reached: set[str] = set()
        while reaching:
            name = reaching.pop()
            if name not in reached:
                reached.add(name)
                reaching.extend(importers.get(name, ()))
        known.update((name, name in reached) for name in seen)
        return "" in reached

    def _modules(self, folder: str, name: str) -> Iterator[tuple[bool, _File]]:
        base = os.path.join(folder, *name.split("."))
        for path, is_package in ((os.path.join(base, "__init__.py"), True), (f"{base}.py", False)):
            file = self._look(path) if os.path.isfile(path) else None
            if file is not None:
                yield is_package, file

    def _look(self, path: str) -> _File | None:
        if path not in self._files:
            self._files[path] = self._read(path)
        return self._files[path]

    def _read(self, path: str) -> _File | None:
        try:
            text = read_regular(path).decode("latin-1")
        except OSError:
            return None
        if self._framework.search(text):
            return _File(names_framework=True)
        return _File(names_framework=False, imports=tuple(imported_words(text)))


def _targets(file: _File, name: str, is_package: bool) -> Iterator[str]:
    """The names of what a module imports, from the script's folder."""
    for dotted in file.imports:
        absolute = _absolute(dotted, name, is_package)
        if absolute:
            yield absolute


def _absolute(dotted: str, importer: str, is_package: bool) -> str:
    """The name from the script's folder; empty where a relative import leaves it."""
    stripped = dotted.lstrip(".")
    level = len(dotted) - len(stripped)
    if level == 0:
        return stripped
    package = importer.split(".") if importer else []
    if importer and not is_package:
        package.pop()
    if level - 1 > len(package):
        return ""
    kept = package[: len(package) - (level - 1)]
    return ".".join([*kept, stripped] if stripped else kept)
