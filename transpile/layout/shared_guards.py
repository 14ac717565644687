"""Statements that edits put under the same guard one behind the other: one guard for all."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TypeGuard

#: Guards that edits write, and that what stands under them leaves as they are.
_GUARD = re.compile(r"([ \t]*)(if (?:not )?\w+\(\)(?: > 1)?:)\r?\n?")


def with_shared_guards(before: str, after: str) -> str:
    """A changed text, with one guard where edits put the same one over neighbours.

    Args:
        before: the file as it was.
        after: what edits make of it.
    """
    lines = after.splitlines(keepends=True)
    places = [place for place in repeated(lines) if lines[place].strip() not in before]
    if not places:
        return after
    lone = [node for node in ast.walk(ast.parse(after)) if is_lone(node)]
    guards, ends = {node.lineno - 1 for node in lone}, {node.end_lineno for node in lone}
    # What looks like a guard within a text is none.
    gone = {place for place in places if place in guards and place in ends}
    return "".join(line for number, line in enumerate(lines) if number not in gone)


def repeated(lines: list[str]) -> Iterator[int]:
    """The lines that repeat the guard of the block that ends above them."""
    open_guards: dict[str, str] = {}
    for number, line in enumerate(lines):
        text = line.strip()
        indentation = line[: len(line) - len(line.lstrip())] if text else ""
        for other in [each for each in open_guards if not is_within(indentation, each)]:
            if not text or other != indentation or open_guards[other] != text:
                del open_guards[other]
            else:
                yield number
        found = _GUARD.fullmatch(line)
        if found is not None:
            open_guards[found[1]] = found[2]


def is_within(indentation: str, other: str) -> bool:
    """Whether a line stands deeper than another."""
    return len(indentation) > len(other) and indentation.startswith(other)


def is_lone(node: ast.AST) -> TypeGuard[ast.If]:
    """Whether a statement is an ``if`` without an ``else``, whose block has lines of its own."""
    return isinstance(node, ast.If) and not node.orelse and node.body[0].lineno > node.lineno
