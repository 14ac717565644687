"""A copy of the files that belong to the project, without what tools leave beside them."""

from __future__ import annotations

import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("transpile", "rules")
FILES = (
    "pyproject.toml",
    "README.md",
    "LICENSE",
    "MANIFEST.in",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    ".pre-commit-hooks.yaml",
)


def copy_project(folder: Path) -> Path:
    """Copy what is installed, and what installing needs, into `folder`."""
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copy(ROOT / name, folder / name)
    return folder
