"""What the tool has to say about a place in a script."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Level(IntEnum):
    """How grave a finding is; the order is that of gravity."""

    NOTE = 0
    WARNING = 1
    ERROR = 2

    @property
    def label(self) -> str:
        """The word that reports print: ``note``, ``warning`` or ``error``."""
        return self.name.lower()


@dataclass(frozen=True)
class Finding:
    """One remark on one place.

    Args:
        code: stable identifier such as ``PT101``; the letters name the framework (``DT`` for none).
        level: an error refuses the conversion, a warning wants a person to look, a note informs.
        path: the file as the user named it.
        line: 1-based line; 0 where the finding is about the whole file.
        column: 1-based column in characters; 0 where the finding is about the whole file.
        message: what is the case, and why it matters.
        advice: what to do by hand; empty where nothing is to be done.
    """

    code: str
    level: Level
    path: str
    line: int
    column: int
    message: str
    advice: str = ""

    @property
    def sort_key(self) -> tuple[str, int, int, str, str]:
        """Order of reports: by place, then code, so that equal inputs give equal reports."""
        return (self.path, self.line, self.column, self.code, self.message)
