"""What somebody may have meant who wrote a name that nothing has."""

from __future__ import annotations

import os
from collections.abc import Iterable


def meant(word: str, known: Iterable[str], cutoff: float = 0.7) -> str:
    """The known word that is nearest; empty where none is near."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, list(known), 1, cutoff)), "")


def meant_file(path: str) -> str:
    """The file or folder beside a missing one that is named most like it; empty without any."""
    folder, name = os.path.split(path)
    try:
        known = os.listdir(folder or os.curdir)
    except OSError:
        return ""
    found = meant(name, known, 0.8)
    return os.path.join(folder, found) if found else ""


def spelled(code: str) -> str:
    """A code as it was meant: letters for digits that look like them."""
    upper = code.upper()
    return upper[:2] + upper[2:].translate(str.maketrans("OIL", "011"))
