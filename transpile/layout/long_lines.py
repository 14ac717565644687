"""Lines that edits made longer than the lines of their file are: split as black splits them."""

from __future__ import annotations

import ast
import io
import tokenize
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import pairwise

#: Lengths that people limit their lines to.
LIMITS = (88, 100, 120)
#: How many of a file's lines may be longer than its limit.
EXCEPTIONS = 0.02
_OPENING, _CLOSING = "([{", ")]}"


def limit_of(lines: Sequence[str]) -> int | None:
    """The length that nearly all lines of a file keep to; None where there is none."""
    lengths = sorted(width_of(line) for line in lines if line.strip())
    longest = lengths[int(len(lengths) * (1 - EXCEPTIONS)) - 1] if lengths else 0
    return next((limit for limit in LIMITS if longest <= limit), None)


def width_of(line: str) -> int:
    """How wide a line is where a tab is as wide as an indentation of four."""
    return len(line.rstrip("\r\n").expandtabs(4))


def with_short_lines(before: str, after: str) -> str:
    """A changed text, with lines split that were within the limit of their file.

    Args:
        before: the file as it was.
        after: what edits make of it.
    """
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    limit = limit_of([line.rstrip("\r\n") for line in old])
    if limit is None or all(width_of(line) <= limit for line in new):
        return after
    grown = list(grown_lines(old, new, limit))
    whole = whole_lines(after, {number + 1 for number in grown})
    split: dict[int, str] = {}
    for number in grown:
        divide = split_line if number + 1 in whole else split_at_comma
        shorter = divide(new[number], limit)
        if shorter is not None:
            split[number] = shorter
    text = "".join(split.get(number, line) for number, line in enumerate(new))
    return text if split and means_the_same(after, text, split) else after


def grown_lines(old: list[str], new: list[str], limit: int) -> Iterator[int]:
    """The positions of lines that are new, or stand for such as were within the limit."""
    if all(width_of(line) <= limit for line in old):
        # No long line was there before: to compare all of two long texts takes far longer.
        yield from (number for number, line in enumerate(new) if width_of(line) > limit)
        return
    for (first, last), (start, end) in between_anchors(old, new):
        yield from grown_between(old[first:last], new[start:end], start, limit)


def grown_between(old: list[str], new: list[str], shift: int, limit: int) -> Iterator[int]:
    """The same for a part of two files; positions are counted from `shift`."""
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for tag, first, last, start, end in matcher.get_opcodes():
        if tag in ("replace", "insert"):
            if all(width_of(line) <= limit for line in old[first:last]):
                yield from range(shift + start, shift + end)


def between_anchors(
    old: list[str], new: list[str]
) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """The parts of two files between lines that both have once: where they differ alone.

    What a conversion leaves is most of a file, and to compare all of it takes the longer the more
    lines are alike.
    """
    counts = Counter(old), Counter(new)
    places = {line: number for number, line in enumerate(old) if counts[0][line] == 1}
    pairs = [
        (places[line], number)
        for number, line in enumerate(new)
        if counts[1][line] == 1 and line in places
    ]
    before = (0, 0)
    for first, start in (*in_order(pairs), (len(old), len(new))):
        if first > before[0] or start > before[1]:
            yield (before[0], first), (before[1], start)
        before = (first + 1, start + 1)


def in_order(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest row of pairs, sorted by their second numbers, whose first numbers ascend."""
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for number, (first, _) in enumerate(pairs):
        length = bisect_left(ends, first)
        before.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [first]
        last[length : length + 1] = [number]
    found: list[tuple[int, int]] = []
    number = last[-1] if last else -1
    while number >= 0:
        found.append(pairs[number])
        number = before[number]
    return found[::-1]


def whole_lines(text: str, asked: Collection[int]) -> frozenset[int]:
    """The numbers of those lines, and of others, that hold a statement, or its header, whole.

    Args:
        text: a module.
        asked: the numbers of the lines that matter; others are looked at beside them at most.
    """
    lines = io.StringIO(text).readlines()
    found: set[int] = set()
    for first, last in blocks(text) if asked else ():
        if any(first <= number <= last for number in asked):
            inside = lines_of_tokens("".join(lines[first - 1 : last]))
            found.update(first - 1 + number for number in inside)
    return frozenset(found)


def blocks(text: str) -> Iterator[tuple[int, int]]:
    """The first and last lines of the statements of a module; those that share lines are one."""
    found: list[tuple[int, int]] = []
    for statement in statements_of(text) or ():
        first, last = begins(statement), statement.end_lineno or statement.lineno
        if found and first <= found[-1][1]:
            first = found.pop()[0]
        found.append((first, last))
    yield from found


def lines_of_tokens(text: str) -> Iterator[int]:
    """The numbers of the lines that begin and end a statement, or its header; none on errors."""
    found, first = set(), 0
    try:
        for each in tokenize.generate_tokens(io.StringIO(text).readline):
            if each.type == tokenize.NEWLINE:
                if first == each.start[0]:
                    found.add(first)
                first = 0
            elif not first and each.type not in _BETWEEN:
                first = each.start[0]
    except (tokenize.TokenError, IndentationError):
        return
    yield from found


_BETWEEN = (tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT)


def split_at_comma(line: str, limit: int) -> str | None:
    """A part of a statement, broken behind the last comma that is within the limit."""
    text = line.rstrip("\r\n")
    if len(text) <= limit:
        return None
    depth, place = 0, None
    for kind, word, column in tokens(text):
        if kind == tokenize.COMMENT:
            return None
        depth += (word in _OPENING) - (word in _CLOSING) if kind == tokenize.OP else 0
        if word == "," and depth == 0 and column < min(limit, len(text) - 1):
            place = column
    if place is None:
        return None
    indentation = text[: len(text) - len(text.lstrip())]
    rest = f"{indentation}{text[place + 1 :].lstrip()}{line[len(text):]}"
    return f"{text[: place + 1]}{line[len(text):]}{split_at_comma(rest, limit) or rest}"


def means_the_same(one: str, other: str, changed: Collection[int]) -> bool:
    """Whether two texts are the same program.

    Args:
        one: the first text.
        other: the second, which differs from the first by how some lines are broken.
        changed: the positions of those lines in the first, from 0.
    """
    first, second = statements_of(one), statements_of(other)
    if first is None or second is None:
        return False
    # Only statements with such lines: to compare all of a long script takes longer than to edit it.
    return len(first) == len(second) and all(
        ast.dump(before) == ast.dump(after)
        for before, after in zip(first, second, strict=True)
        if any(number in changed for number in range(begins(before) - 1, before.end_lineno or 0))
    )


@lru_cache(maxsize=2)
def statements_of(text: str) -> list[ast.stmt] | None:
    """The statements of a module; None where Python cannot read it."""
    try:
        return ast.parse(text).body
    except (SyntaxError, ValueError):
        return None


def begins(statement: ast.stmt) -> int:
    """The line of a statement or of its first decorator."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(each.lineno for each in decorators)])


def split_line(line: str, limit: int) -> str | None:
    """A line with the arguments of its last call on lines of their own; None where it stays."""
    text = line.rstrip("\r\n")
    indentation = text[: len(text) - len(text.lstrip())]
    ending = line[len(text) :]
    if len(text) <= limit or text.lstrip() == "" or "\t" in indentation:
        return None
    place = last_call(text)
    if place is None:
        return None
    opening, closing, commas = place
    inner = text[opening + 1 : closing]
    head, tail = text[: opening + 1], indentation + text[closing:]
    body = [f"{indentation}    {inner}"]
    if len(body[0]) > limit:
        edges = [opening, *commas, closing]
        parts = [text[a + 1 : b].strip() for a, b in pairwise(edges)]
        if len(parts) == 1:
            return None
        body = [f"{indentation}    {part}," for part in parts if part]
    return ending.join([head, *body, tail]) + ending


def last_call(text: str) -> tuple[int, int, list[int]] | None:
    """Where the last call with arguments begins and ends, and its commas; None where there is none.

    It is one that stands in no other brackets.
    """
    found: tuple[int, int, list[int]] | None = None
    opened: list[tuple[str, int, bool]] = []
    commas: list[int] = []
    previous = ""
    for kind, word, column in tokens(text):
        if kind == tokenize.COMMENT:
            return None
        if word in _OPENING and kind == tokenize.OP:
            opened.append((word, column, previous == "name"))
            commas = [] if len(opened) == 1 else commas
        elif word in _CLOSING and kind == tokenize.OP:
            if not opened:
                return None
            bracket, start, is_call = opened.pop()
            if not opened and bracket == "(" and is_call and text[start + 1 : column].strip():
                found = (start, column, commas)
        elif word == "," and len(opened) == 1:
            commas.append(column)
        elif word == "for" and len(opened) == 1:
            # A generator takes no comma behind it.
            return None
        previous = "name" if kind == tokenize.NAME or word in (")", "]") else ""
    return found if not opened else None


def tokens(text: str) -> Iterator[tuple[int, str, int]]:
    """Kind, text and column of what a line is made of, up to a bracket that it does not open."""
    found: list[tokenize.TokenInfo] = []
    depth = 0
    with suppress(tokenize.TokenError, IndentationError):
        for each in tokenize.generate_tokens(io.StringIO(text.strip() + "\n").readline):
            if each.type == tokenize.OP:
                depth += (each.string in _OPENING) - (each.string in _CLOSING)
            if depth < 0:
                break
            found.append(each)
    shift = len(text) - len(text.lstrip())
    for each in found:
        if each.start[0] == 1:
            yield each.type, each.string, each.start[1] + shift
