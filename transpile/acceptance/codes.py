"""Choosing findings by their codes."""

from __future__ import annotations

from collections.abc import Iterable

from transpile.finding import Finding


def named(code: str, prefixes: Iterable[str]) -> bool:
    """Whether one of several codes, or beginnings of codes, names a code."""
    return any(code.startswith(prefix.upper()) for prefix in prefixes)


def counts(finding: Finding, select: Iterable[str], ignore: Iterable[str]) -> bool:
    """Whether a finding is one that the user wants; the longer name of a code wins."""
    selected = _longest(finding.code, select)
    ignored = _longest(finding.code, ignore)
    if ignored is not None and ignored >= (selected or 0):
        return False
    return selected is not None or not tuple(select)


def unknown(prefixes: Iterable[str], codes: Iterable[str]) -> list[str]:
    """Those that name no code."""
    known = tuple(codes)
    return [each for each in prefixes if not any(code.startswith(each.upper()) for code in known)]


def _longest(code: str, prefixes: Iterable[str]) -> int | None:
    lengths = [len(prefix) for prefix in prefixes if named(code, (prefix,))]
    return max(lengths, default=None)
