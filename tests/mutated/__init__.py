"""Breakages of single behaviours, by what they belong to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """One broken behaviour.

    Args:
        name: what it is called.
        file: where it is.
        old: the text there.
        new: the text that takes its place.
        tests: the tests that concern it, where those of its part say less.
    """

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...] = ()
