"""The change of one file as a unified diff that ``patch`` and ``git apply`` take."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from transpile.result import Origin

_PLAIN = re.compile(rb"[ !#-\[\]-~]*")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")
_COLOURS = {"-": "31", "+": "32", "@": "36"}
_NO_NEWLINE = "\n\\ No newline at end of file\n"


def unified_diff(
    path: str,
    before: bytes | None,
    after: bytes,
    *,
    colour: bool = False,
    origins: Iterable[Origin] = (),
) -> bytes:
    r"""Return the unified diff of two versions of the file at `path`; empty where they are equal.

    Lines end at ``\n`` alone, as they do for ``patch``, and the encoding plays no part.

    Args:
        path: the file as the user named it.
        before: its content; None where there is no file yet.
        after: what it becomes.
        colour: mark the lines with the colours of a terminal.
        origins: where changes begin and why; their codes stand behind the head of each hunk, where
            ``patch`` and ``git apply`` pass over them.
    """
    if before == after:
        return b""
    from difflib import unified_diff as compare

    # Latin-1 maps each byte to one character and back, whatever the file's encoding is.
    old, new = (_LINE.findall(data.decode("latin-1")) for data in (before or b"", after))
    hunks = list(compare(old, new))[2:]
    own = [origin for origin in origins if origin.path == path]
    if own:
        hunks = [_annotated(line, own) for line in hunks]
    old_name = _file_name("a", path) if before is not None else b"/dev/null"
    header = b"--- " + old_name + b"\n+++ " + _file_name("b", path) + b"\n"
    body = [line if line.endswith("\n") else line + _NO_NEWLINE for line in hunks]
    if colour:
        header = b"\x1b[1m" + header + b"\x1b[0m"
        body = [_coloured(line) for line in body]
    return header + "".join(body).encode("latin-1")


def _annotated(line: str, origins: Iterable[Origin]) -> str:
    """The head of a hunk with the codes of what begins in it; other lines as they are."""
    head = _HUNK.match(line)
    if head is None:
        return line
    first, length = int(head[1]), int(head[2] or 1)
    codes = dict.fromkeys(one.code for one in origins if first <= one.line <= first + length)
    return f"{line.rstrip()} {' '.join(codes)}\n" if codes else line


def _coloured(line: str) -> str:
    code = _COLOURS.get(line[0])
    return line if code is None else f"\x1b[{code}m{line[:-1]}\x1b[0m\n"


def _file_name(side: str, path: str) -> bytes:
    """As git writes it: quoted where it must be, with a tab after a name that has a space."""
    relative = os.path.normpath(path).replace(os.sep, "/").lstrip("/")
    name = os.fsencode(f"{side}/{relative}")
    if _PLAIN.fullmatch(name):
        return name + (b"\t" if b" " in name else b"")
    escaped = b"".join(_quoted(byte) for byte in name)
    return b'"' + escaped + b'"'


def _quoted(byte: int) -> bytes:
    character = bytes([byte])
    if character in b'"\\':
        return b"\\" + character
    return character if _PLAIN.fullmatch(character) else b"\\%03o" % byte
