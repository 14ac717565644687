"""The files of a converted project: what becomes of each, and who else uses them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import libcst as cst

from transpile import asking
from transpile.distributed.modules import Text
from transpile.distributed.verdict import MOST_MODULES, texts
from transpile.facts.module import Module
from transpile.finding import Finding, Level
from transpile.helpers.modules import HelperModule
from transpile.plan.model import Plan
from transpile.project import Project
from transpile.reading import read_regular
from transpile.records import dataclass, replace
from transpile.result import ProjectFile
from transpile.search_path import added_folders
from transpile.text.import_words import imported_words, may_change_search_path
from transpile.text.source import SourceError, read_source

#: Files below the project's folder after which nobody looks for other scripts any more.
MOST_FILES = 2000
_SKIPPED = frozenset({"__pycache__", "node_modules", "site-packages", "build", "dist"})
_IMPORTERS = frozenset({"import_module", "__import__"})


@dataclass(frozen=True)
class Changed:
    """What a conversion makes of the modules of a project.

    Args:
        texts: the new text of every module that changes.
        shared: the module of helpers that is added.
    """

    texts: Mapping[Module, str]
    shared: HelperModule | None


UNCHANGED = Changed({}, None)


def place_of(project: Project) -> str:
    """Where the script stands below the folder that holds its whole project."""
    file = project.files.get(project.entry)
    return placed(project, file) if file is not None else ""


def placed(project: Project, file: Path) -> str:
    """A file's path from the folder that holds the whole project, with slashes."""
    assert project.top is not None
    return Path(os.path.relpath(file, project.top)).as_posix()


def files_of(project: Project, changed: Changed = UNCHANGED) -> tuple[ProjectFile, ...]:
    """The modules that the script imports, changed or not, and what is added to them."""
    if project.folder is None:
        return ()
    found: list[ProjectFile] = []
    shared = changed.shared
    for module in project.modules():
        file = project.files[module]
        if module.is_entry or (shared is not None and file == shared.file):
            continue
        source = module.source
        data = source.encode(changed.texts.get(module, source.text))
        found.append(ProjectFile(source.path, placed(project, file), source.data, data))
    if shared is not None:
        found.append(
            ProjectFile(
                project.shown(shared.file),
                placed(project, shared.file),
                shared.before.encode() if shared.before is not None else None,
                shared.text.encode(),
                shared.order,
            )
        )
    return tuple(found)


def names_none(project: Project, packages: Iterable[str]) -> bool:
    """Whether neither a script nor what it imports imports a package, which costs no parsing.

    Where that cannot be told from the words alone, they may import one.
    """
    beginnings = tuple(f"{package}." for package in packages)
    words = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(packages)))})\b")
    asked = 0

    def find(name: str) -> Text | None:
        nonlocal asked
        asked += 1
        return project.text_of(name)

    entry = project.entry.source
    for text in texts(Text("", entry.text, False, entry.path), find):
        if text.name and may_change_search_path(text.text):
            return False
        if words.search(text.text) and any(
            f"{name}.".startswith(beginnings) for name in imported_words(text.text)
        ):
            return False
    return asked < MOST_MODULES - 1


def copied(project: Project) -> tuple[tuple[ProjectFile, ...], list[Module]]:
    """The modules that a script imports, told from their words alone, as all stay as they are.

    Returns:
        them, and those that may lead elsewhere from another folder.
    """
    found: dict[Path, ProjectFile] = {}
    bound = [project.entry]
    entry = project.entry.source
    for text in texts(Text("", entry.text, False, entry.path), project.text_of):
        file = project.take(text.name) if text.name else None
        if file is None or file in found or file == project.files[project.entry]:
            continue
        data = read_regular(file)
        found[file] = ProjectFile(text.path, "", data, data)
        if any(word in text.text for word in ("__file__", *_IMPORTERS)):
            module = project.find(text.name, project.entry)
            bound.extend([module] if module is not None else [])
    made = (replace(each, place=placed(project, file)) for file, each in found.items())
    return tuple(sorted(made, key=lambda each: each.path)), bound


def bound_to_place(project: Project, modules: Sequence[Module] | None = None) -> Iterator[Finding]:
    """What leads elsewhere once the files are copied to another folder.

    Args:
        project: the script's.
        modules: those to look at; default: all that it may import.
    """
    if project.folder is None:
        return
    modules = project.modules() if modules is None else modules
    for root in sorted(project.installed_from):
        yield Finding(
            "DT008",
            Level.WARNING,
            project.entry.source.path,
            0,
            0,
            f"its modules are found from {project.shown(root)}, which it does not put on its "
            "search path itself: they may be installed from there",
            "start the output from the folder that takes its place, with PYTHONPATH=.",
        )
    for module in modules:
        text = module.source.text
        if "__file__" not in text and not any(word in text for word in _IMPORTERS):
            continue
        for node in module.source.nodes:
            why = bound_because(node)
            statement = whole_line(module, node) if why else ""
            if not why or "sys.path" in statement:
                continue
            line, column = module.source.position(module.source.span(node).start)
            yield Finding(
                "DT008",
                Level.WARNING,
                module.source.path,
                line,
                column,
                why,
                "copy what it needs beside the output, or convert with --in-place",
            )


def bound_because(node: cst.CSTNode) -> str:
    """Why an expression means something else in another folder; empty where it does not."""
    if isinstance(node, cst.Name) and node.value == "__file__":
        return "this path starts from the file's own folder, which the output is not in"
    if isinstance(node, cst.Call) and node.args and not node.args[0].star:
        function = node.func.attr if isinstance(node.func, cst.Attribute) else node.func
        if isinstance(function, cst.Name) and function.value in _IMPORTERS:
            if not isinstance(node.args[0].value, cst.SimpleString):
                return "which module is imported here is not known: it is not copied to the output"
    return ""


def whole_line(module: Module, node: cst.CSTNode) -> str:
    """The text of the small statement around a node."""
    for around in module.source.parents(node):
        if isinstance(around, cst.BaseSmallStatement):
            return module.source.code(around)
    return ""


def users_elsewhere(plan: Plan, project: Project, changed: Changed) -> Iterator[Finding]:
    """The other scripts that import a module which is changed, each named once."""
    files = {
        asking.real(project.files[module]): project.shown(project.files[module])
        for module in changed.texts
        if not module.is_entry and module in project.files
    }
    if not files or project.top is None:
        return
    texts = dict(python_files(project.top))
    imports: dict[Path, set[Path]] = {}
    for file, text in texts.items():
        roots = search_path(file, text) or [project.top, *project.roots]
        imports[file] = {
            found for word in imported_words(text) for found in files_named(word, file, roots)
        }
    own = {asking.real(file) for file in project.files.values()}
    imported = {found for file in imports for found in imports[file] if found != file}
    importers: dict[Path, set[Path]] = {}
    for file, found_there in imports.items():
        for found in found_there:
            importers.setdefault(found, set()).add(file)
    users = {found: reached(found, importers) for found in files}
    for file in sorted(texts):
        if file in own or (file in imported and "__main__" not in texts[file]):
            continue
        used = sorted(files[found] for found in files if file in users[found])
        if used:
            yield user_finding(plan, project, file, texts[file], used)


def outside(project: Project, changed: Changed) -> tuple[list[Finding], list[Finding]]:
    """The files that would have to change though they are not in the project's folder.

    Returns:
        those that a copy of the project would use, too, so that they must not change at all; and
        those that must not change in place.
    """
    fixed: list[Finding] = []
    in_place: list[Finding] = []
    home = project.home
    if home is None:
        return fixed, in_place
    places = {
        project.files[one]: project.roots_of[one] for one in changed.texts if not one.is_entry
    }
    if changed.shared is not None:
        places[changed.shared.file] = changed.shared.file.parent
    for file, root in places.items():
        if home in asking.real(file).parents:
            continue
        is_fixed = any(root in (folder, *folder.parents) for folder in project.fixed_folders())
        (fixed if is_fixed else in_place).append(
            Finding(
                "DT020",
                Level.ERROR,
                project.shown(file),
                0,
                0,
                f"this module would have to change, but is outside the project's folder {home}",
                "copy it into the project; where it is part of it, make the folder above both a "
                "repository or put a pyproject.toml there",
            )
        )
    return fixed, in_place


def user_finding(plan: Plan, project: Project, file: Path, text: str, used: list[str]) -> Finding:
    """The word about one other script."""
    names = {name.rpartition(".")[2] for name in plan.table.distributed_starts}
    distributed = any(re.search(rf"\b{re.escape(name)}\b", text) for name in names)
    words = ", ".join(used)
    if distributed:
        message = f"imports what is changed ({words}) and may be distributed itself"
        advice = "look whether it shards its data twice now"
    else:
        message = f"imports what is changed ({words}): as one process it runs as before"
        advice = ""
    level = Level.WARNING if distributed else Level.NOTE
    return Finding("DT006", level, project.shown(file), 0, 0, message, advice)


def python_files(folder: Path) -> Iterator[tuple[Path, str]]:
    """The Python files below a folder with their texts, without other people's code."""
    count = 0
    for parent, folders, files in asking.walk(folder):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".")
            and name not in _SKIPPED
            and not asking.exists(os.path.join(parent, name, "pyvenv.cfg"))
        )
        for name in sorted(files):
            if count < MOST_FILES:
                count += 1
                file = Path(parent, name)
                try:
                    yield asking.real(file), read_regular(file).decode("latin-1")
                except OSError:
                    continue


def search_path(file: Path, text: str) -> list[Path]:
    """The folders that a script adds to its search path; none where it adds none."""
    if "sys.path" not in text:
        return []
    try:
        front, behind = added_folders(read_source(read_regular(file), str(file)), file)
    except (OSError, SourceError):
        return []
    return [*front, *behind]


def files_named(word: str, importer: Path, roots: list[Path]) -> Iterator[Path]:
    """The files that an import in another file may mean."""
    name = word.lstrip(".")
    level = len(word) - len(name)
    bases = [importer.parent, *roots] if level == 0 else [importer.parent]
    for _ in range(level - 1):
        bases = [base.parent for base in bases]
    parts = name.split(".") if name else []
    for base in bases:
        found = [
            asking.real(file)
            for count in range(0 if level else 1, len(parts) + 1)
            for folder in (base.joinpath(*parts[:count]),)
            for file in (folder / "__init__.py", folder.with_name(f"{folder.name}.py"))
            if asking.is_file(file)
        ]
        if found:
            yield from found
            return


def reached(file: Path, importers: Mapping[Path, set[Path]]) -> set[Path]:
    """Everything that imports a file, through others, too."""
    seen: set[Path] = set()
    pending = [file]
    while pending:
        for found in importers.get(pending.pop(), ()):
            if found not in seen:
                seen.add(found)
                pending.append(found)
    return seen
