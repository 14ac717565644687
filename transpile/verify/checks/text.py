"""Comparing text in which numbers differ from run to run."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|\d+|\b(?:nan|inf)\b")


def mask_numbers(text: str) -> str:
    """The text with every number replaced by ``#``."""
    return _NUMBER.sub("#", text)


def numbers(text: str) -> tuple[float, ...]:
    """The numbers in a text, in their order."""
    return tuple(float(match.group()) for match in _NUMBER.finditer(text))


def printed_lines(output: str) -> tuple[str, ...]:
    """The lines of a process's output that a reader sees, without empty ones.

    Of a line that a progress bar draws over with carriage returns the last state counts.
    """
    lines = (line.rstrip("\r").rpartition("\r")[2].rstrip() for line in output.split("\n"))
    return tuple(line for line in lines if line)
