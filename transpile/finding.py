"""What the tool has to say about a place in a script."""

from __future__ import annotations

from enum import IntEnum

from transpile.records import shown_dataclass as dataclass


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
class Fix:
    """A change of one stretch of a file that does what a finding advises.

    Args:
        what: what it does, one sentence.
        line: where the stretch begins, 1-based.
        column: the same, in characters.
        end_line: where it ends.
        end_column: the column behind its last character.
        text: what takes its place.
    """

    what: str
    line: int
    column: int
    end_line: int
    end_column: int
    text: str

    def apply(self, text: str) -> str:
        """The text of a file after the change."""
        starts = [0]
        for line in text.split("\n"):
            starts.append(starts[-1] + len(line) + 1)
        start = starts[self.line - 1] + self.column - 1
        end = starts[self.end_line - 1] + self.end_column - 1
        return text[:start] + self.text + text[end:]


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
        fix: the change that does it, where it is mechanical.
    """

    code: str
    level: Level
    path: str
    line: int
    column: int
    message: str
    advice: str = ""
    fix: Fix | None = None

    @property
    def sort_key(self) -> tuple[str, int, int, str, str]:
        """Order of reports: by place, then code, so that equal inputs give equal reports."""
        return (self.path, self.line, self.column, self.code, self.message)
