"""Imports that are not found, though a folder above the script has what they name."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from transpile.finding import Finding, Level
from transpile.project import HIGHEST, Project
from transpile.project_files import names_none
from transpile.text.import_words import imported_words


def astray(project: Project) -> Iterator[Finding]:
    """One warning for each package that a script does not find where it looks."""
    for package, where in project.astray.items():
        yield Finding(
            "DT007",
            Level.WARNING,
            project.entry.source.path,
            0,
            0,
            f"'{package}' stands at {where}, where this script does not look for what it imports: "
            "it is taken for a library of which nothing is known",
            "add that folder to the search path, or put an __init__.py beside the script where it "
            "is run with python -m",
        )


def training_above(project: Project, packages: Collection[str]) -> Iterator[Finding]:
    """The same for a script that imports a framework through such packages alone, if at all."""
    entry = project.entry.source
    if project.folder is None or "__main__" not in entry.text:
        return
    for name in imported_words(entry.text):
        if not name.startswith(".") and project.text_of(name) is None:
            project.note_astray(name)
    above = list(project.folder.parents)[:HIGHEST] if project.astray else []
    if not all(names_none(Project(entry, folder), packages) for folder in above):
        yield from astray(project)
