"""Edits as the fix of a finding, which editors and reviewers apply with one click."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile

from transpile.finding import Fix
from transpile.text.edit import Edit, apply_edits
from transpile.text.source import Source


def fix_of(source: Source, edits: Iterable[Edit], what: str) -> Fix:
    """Return the smallest change of one stretch that does what edits do.

    Args:
        source: the script.
        edits: what is changed.
        what: what that does, one sentence.
    """
    before, after = source.text, apply_edits(source.text, edits)
    start = _common(before, after)
    same = _common(before[start:][::-1], after[start:][::-1])
    line, column = source.position(start)
    end_line, end_column = source.position(len(before) - same)
    return Fix(what, line, column, end_line, end_column, after[start : len(after) - same])


def _common(left: str, right: str) -> int:
    """How many characters two texts begin with alike."""
    pairs = zip(left, right, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
