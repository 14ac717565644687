"""Lines of a program and the constructs that they belong to."""

from __future__ import annotations

from collections.abc import Iterable

_MARK = "\0"


def marked(construct: str, lines: Iterable[str]) -> list[str]:
    """Lines that remember which construct they are of."""
    return [line if _MARK in line else f"{line}{_MARK}{construct}" for line in lines]


def indented(lines: Iterable[str], levels: int = 1) -> list[str]:
    """The same lines further to the right."""
    return ["    " * levels + line if line.partition(_MARK)[0] else line for line in lines]


def finished(lines: Iterable[str]) -> tuple[str, dict[int, str]]:
    """The text, and the construct of each line that has one."""
    texts, origins = [], {}
    for line in lines:
        for part in line.partition(_MARK)[0].split("\n"):
            texts.append(part)
            if _MARK in line:
                origins[len(texts)] = line.partition(_MARK)[2]
    return "\n".join(texts) + "\n", origins
