"""Paths by patterns, as ``.gitignore`` has them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path


def below(path: str, folder: Path) -> str | None:
    """The path of a file below a folder, with slashes; None where it is not below it."""
    absolute = os.path.abspath(path)
    relative = os.path.relpath(absolute, folder)
    if relative.startswith(os.pardir) or os.path.isabs(relative):
        return None
    return relative.replace(os.sep, "/")


def matches(path: str, folder: Path, patterns: Iterable[str]) -> bool:
    """Whether a file is one that patterns name, which start at a folder."""
    chosen = tuple(patterns)
    place = below(path, folder) if chosen else None
    if place is None:
        return False
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(chosen).match_file(place)


def wrong_pattern(patterns: Iterable[str]) -> str | None:
    """The first of several patterns that means nothing; None where all of them do."""
    from pathspec import GitIgnoreSpec

    for pattern in patterns:
        try:
            GitIgnoreSpec.from_lines([pattern])
        except (ValueError, re.error):
            return pattern
    return None


def is_pattern(text: str) -> bool:
    """Whether it may name several files."""
    return any(character in text for character in "*?[!") or text.endswith("/")
