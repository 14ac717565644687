"""Imports that are not found, though a folder above the script has what they name."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.finding import Finding, Level
from transpile.project import Project


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
