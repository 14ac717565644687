"""The modules of the project that a script belongs to, found beside it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import libcst as cst

from transpile import asking
from transpile.distributed.modules import Text
from transpile.facts.module import Module
from transpile.reading import read_regular, read_text
from transpile.search_path import added_folders, folders_around, holds
from transpile.text.decoding import decode
from transpile.text.source import Source, SourceError, read_source

#: A module larger than this is no training code worth following.
LARGEST_MODULE = 2_000_000
#: How many folders above a script its project may begin.
HIGHEST = 3
#: Files that say which packages a script needs.
_REQUIREMENTS = (
    "requirements*.txt", "pyproject.toml", "setup.cfg", "environment*.yml", "environment*.yaml",
)  # fmt: skip
#: What stands at the top of a project.
_MARKS = (".git", ".hg", "pyproject.toml")
#: Files that make a folder one that can be installed.
_INSTALLERS = ("setup.py", "pyproject.toml", "setup.cfg")


class Project:
    """Finds and reads the modules beside an entry script; nothing outside its project is opened.

    Modules are looked up as the script would find them: in its own folder, and in those that it
    adds to ``sys.path`` as constants or as relative to ``__file__``.

    Args:
        entry: the script.
        folder: where its imports are looked up; None where the script has no place on disk.
        read: reads a file's bytes; raises OSError.
        seeks: modules that the script would not find by itself are looked for in the folders
            around it, as where PYTHONPATH names one of them.
    """

    def __init__(
        self,
        entry: Source,
        folder: Path | None,
        read: Callable[[Path], bytes] = read_regular,
        *,
        seeks: bool = False,
    ) -> None:
        self.entry = Module("__main__", entry)
        self.folder = asking.real(folder) if folder is not None else None
        self.roots: list[Path] = []
        self._shown = os.path.dirname(entry.path)
        self._read = read
        self._seeks = seeks
        self._around: dict[str, list[Path]] = {}
        self._found: dict[str, Module | None] = {}
        self._by_file: dict[Path, Module] = {}
        self.files: dict[Module, Path] = {}
        self.roots_of: dict[Module, Path] = {}
        self._taken: set[Path] = set()
        self._instead: dict[Path, bytes] = {}
        self._above: dict[str, list[Path]] = {}
        self._parsed: dict[Path, Source] = {}
        self.unreadable: list[tuple[str, str]] = []
        #: Packages that the script imports and does not find, to where they stand above it.
        self.astray: dict[str, str] = {}
        #: Folders that a script's own search path lacks: the project is installed from there.
        self.installed_from: set[Path] = set()
        #: Folders that are on the search path only once a function has run.
        self.late_roots: set[Path] = set()
        if self.folder is not None:
            file = self.folder / os.path.basename(entry.path)
            self.roots.append(self.folder)
            self.files[self.entry], self.roots_of[self.entry] = file, self.folder
            self._by_file[asking.real(file)] = self.entry
            self._extend(self.entry)

    def become(self, entry: Source, instead: dict[str, bytes]) -> Project:
        """The project as a conversion makes it; modules that stay are not parsed again.

        Args:
            entry: the script as it becomes.
            instead: the new content of files, by the names under which they are shown.
        """
        project = Project(entry, self.folder, self._read)
        if self.folder is not None:
            shown = self._shown or os.curdir
            for name, data in instead.items():
                file = Path(os.path.normpath(self.folder / os.path.relpath(name, shown)))
                project._instead[file] = data
            for real, module in self._by_file.items():
                if not module.is_entry and self.files[module] not in project._instead:
                    project._parsed[real] = module.source
        return project

    def find(self, dotted: str, importer: Module) -> Module | None:
        """The project's module of that name as `importer` sees it; None where there is none."""
        name = absolute_name(dotted, importer)
        if name is None or self.folder is None:
            return None
        if name not in self._found:
            self._found[name] = self._load(name)
            if self._found[name] is None:
                self.note_astray(name)
        return self._found[name]

    def text_of(self, name: str) -> Text | None:
        """A module by its name from the script's folder, as a text that nobody has parsed yet."""
        known = self._found.get(name)
        if known is not None:
            return Text(name, known.source.text, known.is_package, known.source.path)
        for root, path, is_package in self._candidates(name) if self.folder is not None else ():
            try:
                if is_fit(path, root):
                    text = decode(self._read(path)).text
                    return Text(name, text, is_package, self.shown(path))
            except (OSError, SourceError):
                return None
        return None

    def take(self, name: str) -> Path | None:
        """The file of a module by its name from the script's folder; the project reaches so far."""
        for root, path, _ in self._candidates(name) if self.folder is not None else ():
            try:
                if is_fit(path, root):
                    if root not in self.roots:
                        self.installed_from.add(root)
                    self._taken.add(root)
                    return path
            except OSError:
                return None
        return None

    def text_beside(self, path: str) -> str | None:
        """The text of a file that the script names by a path; None where it cannot be read."""
        if self.folder is None:
            return None
        try:
            return read_text(self.folder / path)
        except (OSError, ValueError):
            return None

    def requirements(self) -> dict[str, str]:
        """The files beside the script that say which packages it needs, and their texts."""
        if self.folder is None:
            return {}
        found = {
            file.name for pattern in _REQUIREMENTS for file in asking.matching(self.folder, pattern)
        }
        texts = {name: self.text_beside(name) for name in sorted(found)}
        return {self.shown(self.folder / name): text for name, text in texts.items() if text}

    def forget(self) -> None:
        """Let every module be run anew."""
        for module in {self.entry, *self._by_file.values()}:
            module.scope = None
            module.star_externals.clear()

    def shown(self, file: Path) -> str:
        """How findings name a file of the project: as the user would, from the script's name."""
        if self.folder is None:
            return str(file)
        return os.path.normpath(os.path.join(self._shown, os.path.relpath(file, self.folder)))

    def modules(self) -> list[Module]:
        """The script and every module of the project that it may import, in the order of names.

        What stands above a module as its package belongs to it.
        """
        seen = {self.entry}
        pending = [self.entry]
        while pending:
            module = pending.pop()
            for dotted in imported_names(module.source):
                name = absolute_name(dotted, module) or ""
                parts = name.split(".")
                for count in range(1, len(parts) + 1):
                    found = self.find(".".join(parts[:count]), self.entry) if name else None
                    if found is not None and found not in seen:
                        seen.add(found)
                        pending.append(found)
        return sorted(seen, key=lambda module: (not module.is_entry, module.source.path))

    @property
    def top(self) -> Path | None:
        """The folder that holds the script and every folder in which a module was found."""
        if self.folder is None:
            return None
        return Path(os.path.commonpath([self.folder, *self.roots_of.values(), *self._taken]))

    @cached_property
    def home(self) -> Path | None:
        """The folder outside of which nothing of the project is ever written.

        That is the script's repository, or the folder of its ``pyproject.toml``; where there is
        neither, the script's own folder.
        """
        if self.folder is None:
            return None
        for folder in (self.folder, *self.folder.parents):
            if any(asking.exists(folder / name) for name in _MARKS):
                return folder
        return self.folder

    @cached_property
    def _near_folders(self) -> list[Path]:
        """The script's folder, and those above it that belong to its repository or stand near."""
        assert self.folder is not None
        above = (self.folder, *list(self.folder.parents)[:HIGHEST])
        near = [one for one in above if self._is_near(one)]
        marked = [one for one in near if any(asking.exists(one / name) for name in _MARKS)]
        return near[: near.index(marked[0]) + 1] if marked else near

    def fixed_folders(self) -> set[Path]:
        """The folders that modules add to the search path wherever the project stands."""
        elsewhere = Path(os.sep, "nowhere", "at", "all", "file.py")
        return {
            asking.real(folder)
            for module, file in self.files.items()
            for folders, others in zip(
                added_folders(module.source, file),
                added_folders(module.source, elsewhere),
                strict=True,
            )
            for folder in {*folders} & {*others}
        }

    def _extend(self, module: Module) -> None:
        """Look into the folders that a module adds to the search path, too."""
        front, behind = added_folders(module.source, self.files[module])
        early = set().union(*added_folders(module.source, self.files[module], by_functions=False))
        for place, folders in ((0, front), (len(self.roots), behind)):
            for folder in folders:
                real = asking.real(folder)
                if real not in self.roots and self._is_near(real) and asking.is_folder(real):
                    self.roots.insert(place, real)
                    place += place > 0
                    if folder not in early:
                        self.late_roots.add(real)

    def _is_near(self, folder: Path) -> bool:
        """Whether a folder belongs to the project: below the script's, or one not far above."""
        assert self.folder is not None
        above = [self.folder, *list(self.folder.parents)[:HIGHEST]]
        homes = (Path(folder.anchor), _home())
        return any(one in (folder, *folder.parents) for one in above if one not in homes)

    def _roots_by_name(self, package: str) -> list[Path]:
        """The folders above a script that its imports presuppose, other than by ``sys.path``.

        Where they name the folder that the script stands in, it is run from above, as ``python -m
        package.script``; so it is where it stands in a package beside theirs. Where a folder above
        can be installed, its packages may be.
        """
        assert self.folder is not None
        if package not in self._above:
            above = [self.folder, *list(self.folder.parents)[:HIGHEST]]
            self._above[package] = [
                parent
                for folder, parent in pairwise(above)
                if self._is_near(parent)
                and (
                    folder.name == package
                    or any(asking.is_file(parent / name) for name in _INSTALLERS)
                    or (asking.is_file(folder / "__init__.py") and holds(parent, package))
                )
            ]
        return self._above[package]

    def note_astray(self, name: str) -> None:
        """Remember a module that is not found, but stands in a folder above the script."""
        assert self.folder is not None
        package = name.partition(".")[0]
        for parent in list(self.folder.parents)[:HIGHEST]:
            if self._is_near(parent) and holds(parent, package):
                self.astray.setdefault(package, self.shown(parent / package))
                return

    def _candidates(self, name: str) -> Iterator[tuple[Path, Path, bool]]:
        """Where a module may stand: its root, its file, and whether that begins a package."""
        parts = name.split(".")
        if not name or not all(part.isidentifier() for part in parts):
            return
        for root in self._places_of(parts[0]):
            base = root.joinpath(*parts)
            yield root, base / "__init__.py", True
            yield root, base.with_name(f"{base.name}.py"), False

    def _places_of(self, package: str) -> Iterator[Path]:
        """The folders in which a package may stand, the most likely first."""
        yield from self.roots
        yield from self._roots_by_name(package)
        if self._seeks and self.folder is not None:
            if package not in self._around:
                self._around[package] = list(folders_around(self._near_folders, package))
            yield from self._around[package]

    def _load(self, name: str) -> Module | None:
        for root, path, is_package in self._candidates(name):
            try:
                if path not in self._instead and not is_fit(path, root):
                    continue
                real = asking.real(path)
                if real in self._by_file:
                    return self._by_file[real]
                source = self._parsed.get(real)
                if source is None:
                    data = self._instead.get(path)
                    data = self._read(path) if data is None else data
                    source = read_source(data, self.shown(path))
            except OSError as error:
                why = error.strerror or "cannot be read"
                self.unreadable.append((self.shown(path), why))
                return None
            except SourceError as error:
                self.unreadable.append((self.shown(path), error.message))
                return None
            module = Module(name, source, is_package)
            self._by_file[real] = module
            self.files[module], self.roots_of[module] = path, root
            if root not in self.roots:
                self.installed_from.add(root)
            self._extend(module)
            return module
        return None


def _home() -> Path | None:
    """The user's own folder; None for a user whom the system does not know."""
    try:
        return Path.home().resolve()
    except (RuntimeError, OSError):
        return None


def is_fit(path: Path, root: Path) -> bool:
    """Whether a file is a module of a root that is worth reading.

    Raises:
        OSError: nobody can tell.
    """
    if not asking.is_file(path) or asking.size(path) > LARGEST_MODULE:
        return False
    return root in asking.real(path).parents


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


def imported_names(source: Source) -> Iterator[str]:
    """The modules that a module imports, wherever the import stands; leading dots stay."""
    key = (imported_names, id(source.tree))
    known: tuple[str, ...] | None = source.answers.get(key)
    if known is None:
        known = source.answers[key] = tuple(_imported_names(source))
    yield from known


def _imported_names(source: Source) -> Iterator[str]:
    code = source.tree.code_for_node
    for node in source.nodes_of(cst.Import, cst.ImportFrom):
        if isinstance(node, cst.Import):
            for alias in node.names:
                yield code(alias.name)
        elif isinstance(node, cst.ImportFrom):
            name = code(node.module) if node.module is not None else ""
            dots = "." * len(node.relative)
            yield dots + name
            if not isinstance(node.names, cst.ImportStar):
                for alias in node.names:
                    separator = "." if name else ""
                    yield f"{dots}{name}{separator}{code(alias.name)}"
