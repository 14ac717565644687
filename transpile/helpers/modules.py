"""Where helpers stand when several modules of a project need them: in a module of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from transpile import asking
from transpile.facts.module import Module
from transpile.helpers.text import HelperText, read_helpers
from transpile.layout import insert_import
from transpile.layout.calls import LINE_LENGTH
from transpile.layout.long_lines import limit_of
from transpile.plan.model import Plan
from transpile.prelude import helper_module, sources_of
from transpile.project import Project, imported_names
from transpile.reading import read_text
from transpile.records import dataclass
from transpile.text.edit import Edit

NAME = "distributed_utils"
_LAST = 1000


@dataclass(frozen=True)
class HelperModule:
    """A module that is added to a project.

    Args:
        file: where.
        text: its whole text.
        before: what the file holds already; None where it is new.
        dotted: its name from the script's folder.
        users: the modules that import from it.
        order: the names of all helpers that there are, in the order in which they are written.
    """

    file: Path
    text: str
    before: str | None
    dotted: str
    users: frozenset[Module]
    order: tuple[str, ...]

    def edits(self, plan: Plan, module: Module, helpers: set[str]) -> Iterator[Edit]:
        """The import of some helpers into a module."""
        names = plan.names_in(module)
        wanted = sorted(
            helper if names.fresh(helper) == helper else f"{helper} as {names.fresh(helper)}"
            for helper in helpers
        )
        near = {other.name.split(".")[0] for other in plan.facts.modules.values()}
        limit = limit_of(module.source.text.splitlines()) or LINE_LENGTH
        lines = "\n".join(imports(self.seen_from(plan, module), wanted, limit))
        yield from insert_import(module.source, [lines], _LAST, frozenset({*near, "."}))

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


def imports(module: str, names: list[str], limit: int) -> Iterator[str]:
    """The imports of names from a module: as many in a line as it has room for.

    One name a line, as black divides an import, would be a fourth of what a script gains.
    """
    head = f"from {module} import "
    line = ""
    for name in names:
        longer = f"{line}, {name}" if line else head + name
        if line and len(longer) > limit:
            yield line
            longer = head + name
        line = longer
    if line:
        yield line


def in_package(entry: Module) -> bool:
    """Whether a script is run as part of a package, so that it can import relatively."""
    return any(name.startswith(".") for name in imported_names(entry.source))


def shared_helpers(
    plan: Plan, project: Project, helpers: Mapping[Module, set[str]]
) -> HelperModule | None:
    """The module that others import their helpers from; None where each has its own.

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
    if not roots and not (wanting and stands_apart(plan, project)):
        return None
    home = project.folder if project.folder in roots or not roots else roots[0]
    assert home is not None
    users = [one for one in wanting if one.is_entry or place[project.roots_of[one]] == home]
    others = [module for module in users if not module.is_entry]
    is_late = any(project.roots_of[module] != home for module in others)
    package = [] if is_late or not others else common_package(others)
    folder = home.joinpath(*package)
    sources = sources_of(plan)
    wanted = {name for module in users for name in helpers[module]}
    own, order = helper_module(wanted, sources), tuple(sources)
    name, count = NAME, 1
    while True:
        file = folder / f"{name}.py"
        dotted = ".".join([*package, name])
        before = existing(file)
        both = before.with_helpers(own, order) if before is not None else None
        if both is not None:
            return HelperModule(file, str(both), str(before), dotted, frozenset(users), order)
        if is_free(project, folder, name):
            return HelperModule(file, str(own), None, dotted, frozenset(users), order)
        count += 1
        name = f"{NAME}_{count}"


def stands_apart(plan: Plan, project: Project) -> bool:
    """Whether the helpers of a script alone go into a module of their own."""
    choice = plan.options.helpers
    if choice == "inline" or any(root != project.folder for root in project.roots_of.values()):
        # Started from another folder, the script would not find a module beside it by its name.
        return False
    return choice == "module" or len(project.modules()) > 1


def existing(file: Path) -> HelperText | None:
    """What a former conversion put into a file; None where it holds anything else."""
    try:
        return read_helpers(read_text(file))
    except (OSError, UnicodeDecodeError):
        return None


def is_free(project: Project, folder: Path, name: str) -> bool:
    """Whether nothing in the project has the name of a module yet."""
    for place in (folder, *project.roots):
        if asking.exists(place / name) or asking.exists(place / f"{name}.py"):
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
