"""Which framework a script is of."""

from __future__ import annotations

from collections.abc import Iterable

from transpile import catalog
from transpile.distributed.modules import Text
from transpile.distributed.verdict import absolute
from transpile.options import Options
from transpile.project import Project, imported_names
from transpile.text.import_words import imported_words, may_change_search_path
from transpile.text.source import Source


def framework_of(source: Source, options: Options, project: Project) -> str | None:
    """The framework that a script uses, through its project; None where there is none.

    The module nearest to the entry decides, and there the first import that a framework knows;
    where one framework's package is part of another's, the inner one counts. TensorFlow counts
    where there is no other: scripts of all frameworks read data and write records with it. Where
    nothing trains with the framework that is found, :func:`others_of` names those to look at next.
    """
    if options.framework != "auto":
        return options.framework if options.framework in catalog.frameworks() else None
    entry = project.entry
    pending = [Text("", source.text, False, source.path)]
    seen: set[str] = set()
    while pending:
        text = pending.pop(0)
        names = list(dict.fromkeys(imported_words(text.text)))
        # Words find too much rather than too little: where they find nothing, nothing is parsed.
        if not text.name or framework_of_names(names) is not None:
            module = project.find(text.name, entry) if text.name else entry
            names = list(imported_names(module.source)) if module is not None else []
            found = framework_of_names(names)
            if found is not None:
                return found
        elif may_change_search_path(text.text):
            # It may lead to other folders.
            project.find(text.name, entry)
        for dotted in names:
            name = absolute(dotted, text)
            other = project.text_of(name) if name and name not in seen else None
            seen.add(name)
            if other is not None:
                pending.append(other)
    return None


def others_of(project: Project, framework: str) -> list[str]:
    """The other frameworks that a script itself imports, such as Keras beside its backend."""
    found = frameworks_of_names(imported_names(project.entry.source))
    return [other for other in found if other != framework]


def framework_of_names(names: Iterable[str]) -> str | None:
    """The framework of the imports of one module; None where no framework knows one."""
    return next(iter(frameworks_of_names(names)), None)


def frameworks_of_names(names: Iterable[str]) -> list[str]:
    """The frameworks of the imports of one module, that which decides first."""
    found: dict[str, str] = {}
    for dotted in names:
        for framework in catalog.frameworks():
            for package in catalog.packages(framework):
                if f"{dotted}.".startswith(f"{package}."):
                    found.setdefault(package, framework)
    ordered = sorted(found.items(), key=lambda each: each[1] == "tensorflow")
    kept = [
        framework
        for package, framework in ordered
        if not any(longer.startswith(f"{package}.") for longer in found)
    ]
    return list(dict.fromkeys(kept))
