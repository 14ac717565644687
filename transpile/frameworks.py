"""Which framework a script is of."""

from __future__ import annotations

from collections.abc import Iterable

from transpile import catalog
from transpile.facts.module import Module
from transpile.options import Options
from transpile.project import Project, imported_names
from transpile.source import Source


def framework_of(source: Source, options: Options, project: Project) -> str | None:
    """The framework that a script uses, through its project; None where there is none.

    The module nearest to the entry decides, and there the first import that a framework knows;
    where one framework's package is part of another's, the inner one counts.
    """
    if options.framework != "auto":
        return options.framework if options.framework in catalog.frameworks() else None
    pending: list[Module] = [project.entry]
    seen: set[str] = set()
    while pending:
        module = pending.pop(0)
        names = list(imported_names(module.source))
        found = framework_of_names(names)
        if found is not None:
            return found
        for dotted in names:
            other = project.find(dotted, module)
            if other is not None and other.name not in seen:
                seen.add(other.name)
                pending.append(other)
    return None


def framework_of_names(names: Iterable[str]) -> str | None:
    """The framework of the imports of one module; None where no framework knows one."""
    found: dict[str, str] = {}
    for dotted in names:
        for framework in catalog.frameworks():
            for package in catalog.table(framework).packages:
                if f"{dotted}.".startswith(f"{package}."):
                    found.setdefault(package, framework)
    for package, framework in found.items():
        if not any(longer.startswith(f"{package}.") for longer in found):
            return framework
    return None
