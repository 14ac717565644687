"""Bugs that are put into correct distributed scripts, and the codes that name them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
SCRIPTS = HERE / "scripts"
FIXTURES = HERE.parent.parent / "fixtures"


@dataclass(frozen=True)
class Mutation:
    """A bug in a script.

    Args:
        kind: what kind of bug it is.
        codes: which of the audit's codes name it.
        script: which script it is put into.
        edits: texts that are there once, and what they become.
    """

    kind: str
    codes: frozenset[str]
    script: str
    edits: tuple[tuple[str, str], ...]

    def text(self) -> str:
        """The script with the bug."""
        text = path_of(self.script).read_text("utf-8")
        for old, new in self.edits:
            assert text.count(old) == 1, (self.script, old, text.count(old))
            # With a whole line goes its end.
            whole = f"\n{old}\n"
            text = text.replace(*((whole, "\n") if not new and whole in text else (old, new)))
        return text


def path_of(script: str) -> Path:
    """Where a script is: one written for these tests, a right one of the audit, or an output."""
    if (SCRIPTS / f"{script}.py").is_file():
        return SCRIPTS / f"{script}.py"
    if (FIXTURES / "audit" / script).is_dir():
        return FIXTURES / "audit" / script / "right.py"
    return FIXTURES / "pytorch" / script / "train_dist.py"


def read(text: str) -> Iterator[Mutation]:
    """The bugs of a list: ``# kind: codes``, ``=== script``, then its edits, from and to."""
    for part in text.removeprefix("# ").split("\n# "):
        head, *bugs = part.split("\n=== ")
        kind, _, codes = head.partition(": ")
        for bug in bugs:
            script, *edits = bug.split("\n--- from\n")
            yield Mutation(
                kind, frozenset(codes.split()), script.strip(), tuple(map(edit_of, edits))
            )


def edit_of(text: str) -> tuple[str, str]:
    """A text and what it becomes."""
    old, _, new = text.partition("\n--- to")
    return old, new.removeprefix("\n")


MUTATIONS = tuple(read((HERE / "mutations.txt").read_text("utf-8").rstrip("\n")))
