"""Where helpers stand when several modules of a project need them: in a module of their own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from transpile.edit import Edit
from transpile.facts.module import Module
from transpile.layout import insert_import
from transpile.layout.calls import LINE_LENGTH
from transpile.plan.model import Plan
from transpile.prelude import HelperSource, helper_module, sources_of
from transpile.project import Project, imported_names
from transpile.reading import read_text
from transpile.records import dataclass

NAME = "distributed_utils"
DOCSTRING = "What this project needs in order to train in several processes."
_LAST = 1000
_DEFINITION = re.compile(r"^(?:def|class) (\w+)", re.MULTILINE)


@dataclass(frozen=True)
class HelperModule:
    """A module that is added to a project.

    Args:
        file: where.
        text: its whole text.
        before: what the file holds already; None where it is new.
        dotted: its name from the script's folder.
        users: the modules that import from it.
    """

    file: Path
    text: str
    before: str | None
    dotted: str
    users: frozenset[Module]

    def edits(self, plan: Plan, module: Module, helpers: set[str]) -> Iterator[Edit]:
        """The import of some helpers into a module."""
        names = plan.names_in(module)
        wanted = sorted(
            helper if names.fresh(helper) == helper else f"{helper} as {names.fresh(helper)}"
            for helper in helpers
        )
        line = f"from {self.seen_from(plan, module)} import {', '.join(wanted)}"
        if len(line) > LINE_LENGTH:
            listed = "".join(f"    {name},\n" for name in wanted)
            line = f"{line.partition(' import ')[0]} import (\n{listed})"
        near = {other.name.split(".")[0] for other in plan.facts.modules.values()}
        yield from insert_import(module.source, [line], _LAST, frozenset({*near, "."}))

    def seen_from(self, plan: Plan, module: Module) -> str:
        """How a module imports it: relatively within one package."""
        if module.is_entry and not in_package(plan.entry):
            return self.dotted
        here = [] if module.is_entry else module.name.split(".")
        if here and not module.is_package:
            here.pop()
        there = self.dotted.split(".")
        names = list(imported_names(module.source))
        if not any(name.startswith(".") for name in names) and any(
            name.split(".")[0] == there[0] for name in names
        ):
            # Its own way to name the package.
            return self.dotted
        if not in_package(plan.entry) and (not here or here[0] != there[0] or len(there) == 1):
            return self.dotted
        shared = 0
        while shared < min(len(here), len(there) - 1) and here[shared] == there[shared]:
            shared += 1
        return "." * (len(here) - shared + 1) + ".".join(there[shared:])


def in_package(entry: Module) -> bool:
    """Whether a script is run as part of a package, so that it can import relatively."""
    return any(name.startswith(".") for name in imported_names(entry.source))


def shared_helpers(
    plan: Plan, project: Project, helpers: Mapping[Module, set[str]]
) -> HelperModule | None:
    """The module that several modules import their helpers from; None where one needs any.

    It stands where those modules are found: beside the script, or in another folder of its search
    path. Modules of a third folder get helpers of their own. A folder that is on the search path
    only once a function has run is none to import from at the top of the script.
    """
    wanting = [module for module in helpers if helpers[module] and module in project.roots_of]
    place = {
        root: project.folder if root in project.late_roots else root
        for root in project.roots_of.values()
    }
    roots = [place[project.roots_of[module]] for module in wanting if not module.is_entry]
    if not roots:
        return None
    home = project.folder if project.folder in roots else roots[0]
    assert home is not None
    users = [one for one in wanting if one.is_entry or place[project.roots_of[one]] == home]
    others = [module for module in users if not module.is_entry]
    is_late = any(project.roots_of[module] != home for module in others)
    package = [] if is_late else common_package(others)
    folder = home.joinpath(*package)
    sources = sources_of(plan)
    wanted = {name for module in users for name in helpers[module]}
    name, count = NAME, 1
    while True:
        file = folder / f"{name}.py"
        dotted = ".".join([*package, name])
        before = existing(file, sources)
        if before is not None:
            wanted |= set(_DEFINITION.findall(before))
        if before is not None or is_free(project, folder, name):
            text = helper_module(wanted, sources, DOCSTRING)
            return HelperModule(file, text, before, dotted, frozenset(users))
        count += 1
        name = f"{NAME}_{count}"


def existing(file: Path, sources: Mapping[str, HelperSource]) -> str | None:
    """The text of a file that a former conversion made of these helpers; None for any other."""
    try:
        text = read_text(file)
    except (OSError, UnicodeDecodeError):
        return None
    names = _DEFINITION.findall(text)
    if not names or not set(names) <= set(sources):
        return None
    return text if helper_module(names, sources, DOCSTRING) == text else None


def is_free(project: Project, folder: Path, name: str) -> bool:
    """Whether nothing in the project has the name of a module yet."""
    for place in (folder, *project.roots):
        if (place / name).exists() or (place / f"{name}.py").exists():
            return False
    return not any(
        name in imported.split(".")
        for module in project.files
        for imported in imported_names(module.source)
    )


def common_package(modules: list[Module]) -> list[str]:
    """The package that all modules belong to; empty where some stand beside the script."""
    packages = []
    for module in modules:
        parts = module.name.split(".")
        packages.append(parts if module.is_package else parts[:-1])
    common = packages[0]
    for parts in packages[1:]:
        count = 0
        while count < min(len(common), len(parts)) and common[count] == parts[count]:
            count += 1
        common = common[:count]
    return common
