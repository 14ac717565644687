"""What came of many programs, by construct."""

from __future__ import annotations

import textwrap
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from .check import BROKEN, RIGHT, WRONG, Checked
from .program import Program

COLUMNS = (*RIGHT, *WRONG, BROKEN)


@dataclass
class Table:
    """Counts outcomes, over all and by construct.

    Args:
        total: how often each outcome was.
        constructs: the same for the programs that have a construct.
        codes: how often each code of an error or warning was.
    """

    total: Counter[str] = field(default_factory=Counter)
    constructs: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    codes: Counter[str] = field(default_factory=Counter)

    def add(self, made: Program, checked: Checked) -> None:
        """Count one program."""
        self.total[checked.outcome] += 1
        for construct in made.constructs:
            self.constructs[shortened(construct)][checked.outcome] += 1
        self.codes.update({finding.code for finding in checked.findings if finding.level})

    def __str__(self) -> str:
        columns = [name for name in COLUMNS if self.total[name]]
        width = max([len(name) for name in self.constructs] + [8])
        lines = ["".ljust(width) + "".join(f" {name:>{max(6, len(name))}}" for name in columns)]
        for name, row in [("all", self.total), *sorted(self.constructs.items())]:
            counts = "".join(f" {row[column] or '.':>{max(6, len(column))}}" for column in columns)
            lines.append(name.ljust(width) + counts)
        codes = ", ".join(f"{code} {count}" for code, count in self.codes.most_common())
        return "\n".join([*lines, "", f"warnings and errors by code: {codes}"])


def shortened(construct: str) -> str:
    """The name of a construct, which may be several lines of code, on one line."""
    return textwrap.shorten(construct, 76, placeholder=" ...")
