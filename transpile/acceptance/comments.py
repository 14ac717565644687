"""Comments by which a script accepts findings: ``# disttranspile: ignore[PT403] reason``."""

from __future__ import annotations

import io
import re
import tokenize

from transpile.records import dataclass, replace

_MARK = b"disttranspile:"
_COMMENT = re.compile(r"#\s*disttranspile:\s*(?P<rest>.*)$")
_WHOLE = re.compile(
    r"ignore(?P<file>-file)?(?:\[(?P<codes>\s*[A-Za-z]+\d*(?:\s*,\s*[A-Za-z]+\d*)*\s*)\])?"
    r"(?:\s+(?P<reason>.*))?$"
)


@dataclass(frozen=True)
class Comment:
    """One comment that accepts findings.

    Args:
        line: where it stands, 1-based.
        column: where it starts, 1-based.
        alone: nothing else stands on its line, so that it is about the next one.
        codes: the codes, or beginnings of codes, that it accepts.
        whole_file: it is about every line.
        problem: why it means nothing; empty where it does.
        begin: the column from which on its line is empty without it, 1-based.
        end: the column behind it.
    """

    line: int
    column: int
    alone: bool
    codes: tuple[str, ...] = ()
    whole_file: bool = False
    problem: str = ""
    begin: int = 0
    end: int = 0

    @property
    def skips(self) -> bool:
        """Whether the script shall not be looked at."""
        return self.whole_file and not self.codes and not self.problem

    def covers(self, line: int) -> bool:
        """Whether a finding on a line is one of those that it is about."""
        return self.whole_file or line == self.line or (self.alone and line == self.line + 1)


def comments_in(data: bytes) -> tuple[Comment, ...]:
    """The comments of a script for this tool; none where it cannot be read as Python."""
    if _MARK not in data:
        return ()
    found = []
    try:
        for token in tokenize.tokenize(io.BytesIO(data).readline):
            if token.type != tokenize.COMMENT:
                continue
            match = _COMMENT.match(token.string)
            if match is not None:
                alone = not token.line[: token.start[1]].strip()
                comment = _read(match["rest"].strip(), *token.start, alone)
                begin = len(token.line[: token.start[1]].rstrip()) + 1
                found.append(replace(comment, begin=begin, end=token.end[1] + 1))
    except (tokenize.TokenError, SyntaxError, ValueError):
        return ()
    return tuple(found)


def _read(text: str, line: int, offset: int, alone: bool) -> Comment:
    column = offset + 1
    match = _WHOLE.fullmatch(text)
    if match is None:
        problem = "it is not of the form ignore[CODE] reason"
        return Comment(line, column, alone, problem=problem)
    whole = match["file"] is not None
    codes = tuple(code.strip().upper() for code in (match["codes"] or "").split(",") if code)
    problem = "" if codes or whole else "it names no code: ignore[CODE] reason"
    return Comment(line, column, alone, codes, whole, problem)
