"""Quotes of inserted strings, in the style of the file."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Iterator

from transpile.layout.long_lines import means_the_same
from transpile.records import dataclass

#: How many strings with single quotes there are for one with double quotes, at least.
MOST = 20
_START, _END = (getattr(tokenize, f"FSTRING_{word}", -1) for word in ("START", "END"))


@dataclass(frozen=True)
class String:
    """A string as it is written.

    Args:
        text: all of it, with prefix and quotes.
        line: the line on which it begins, from 0.
        column: where on that line.
    """

    text: str
    line: int
    column: int

    @property
    def prefix(self) -> str:
        """The letters in front of the quotes."""
        return self.text[: len(self.text) - len(self.text.lstrip("rRbBuUfF"))]

    @property
    def is_plain(self) -> bool:
        """Whether it has double quotes for no reason: neither is it triple, nor has it others."""
        bare = self.text[len(self.prefix) :]
        inner = bare[1:-1]
        return bare.startswith('"') and not any(char in inner for char in "\"'\\\n")


def with_own_quotes(before: str, after: str) -> str:
    """A changed text, with new strings in single quotes where the file has no others.

    Args:
        before: the file as it was.
        after: what edits make of it.
    """
    if '"' not in after or before.count("'") < 2:
        return after
    old = list(strings(before))
    singles = sum(each.text[len(each.prefix) :].startswith("'") for each in old)
    doubles = {each.text for each in old if each.is_plain}
    if not singles or singles < MOST * sum(each.is_plain for each in old):
        return after
    lines = lines_of(after)
    changed: set[int] = set()
    for each in strings(after):
        if each.is_plain and each.text not in doubles:
            changed.add(each.line)
            line = lines[each.line]
            start = each.column + len(each.prefix)
            end = each.column + len(each.text)
            lines[each.line] = f"{line[:start]}'{line[start + 1 : end - 1]}'{line[end:]}"
    text = "".join(lines)
    return text if changed and means_the_same(after, text, changed) else after


def lines_of(text: str) -> list[str]:
    """The lines as the tokenizer counts them."""
    return io.StringIO(text, newline="").readlines()


def strings(text: str) -> Iterator[String]:
    """The strings of a text; none where it cannot be read."""
    lines = lines_of(text)
    depth, begin = 0, (0, 0)
    try:
        found = list(tokenize.generate_tokens(io.StringIO(text, newline="").readline))
    except (tokenize.TokenError, IndentationError, SyntaxError):
        return
    for token in found:
        if token.type == _START:
            begin = begin if depth else token.start
            depth += 1
        elif token.type == _END:
            depth -= 1
            if not depth:
                yield _between(lines, begin, token.end)
        elif token.type == tokenize.STRING and not depth:
            yield _between(lines, token.start, token.end)


def _between(lines: list[str], start: tuple[int, int], end: tuple[int, int]) -> String:
    """The string between two places, which count lines from 1."""
    inner = lines[start[0] - 1 : end[0]]
    text = inner[0][start[1] : end[1]] if len(inner) == 1 else "".join(inner)[start[1] :]
    return String(text, start[0] - 1, start[1])
