"""From the bytes of a Python file to its text, as PEP 263 lays down, and no further.

Only encodings that text editors write are read: a file that claims to be ``rot13`` or ``utf-7`` is
refused rather than decoded.
"""

from __future__ import annotations

import codecs
import re

from transpile.records import dataclass

_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_BLANK_OR_COMMENT = re.compile(rb"^[ \t\f]*(?:#.*)?$")
_LONE_CARRIAGE_RETURN = re.compile("\r(?!\n)")
_READABLE = re.compile(
    r"utf-8|ascii|iso8859-\d+|cp125\d|cp437|cp85\d|cp866|cp932|cp949|cp950|koi8-[rtu]|mac-\w+"
    r"|gbk|gb2312|gb18030|big5|big5hkscs|euc_jp|euc_kr|shift_jis"
)
_WIDE_MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)


class SourceError(Exception):
    """A file that cannot be read as a Python script.

    Args:
        message: one line that says what is wrong.
        line: 1-based line, 0 where the whole file is meant.
        column: 1-based column in characters, 0 where the whole file or line is meant.
    """

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column


@dataclass(frozen=True)
class DecodedText:
    """The text of a file and what it takes to write it back.

    Args:
        text: the characters, newlines as in the file, without byte-order mark.
        encoding: Python's name of the encoding.
        has_bom: whether the file begins with the UTF-8 byte-order mark.
    """

    text: str
    encoding: str
    has_bom: bool

    def encode(self, text: str) -> bytes:
        """Return `text` as bytes in the encoding of this file, with its byte-order mark.

        Raises:
            UnicodeEncodeError: the encoding lacks a character of `text`.
        """
        return (codecs.BOM_UTF8 if self.has_bom else b"") + text.encode(self.encoding)


def decode(data: bytes) -> DecodedText:
    """Decode the bytes of a Python file.

    Args:
        data: the whole file.

    Raises:
        SourceError: the bytes are not text in an encoding that Python and editors agree on.
    """
    for mark, name in _WIDE_MARKS:
        if data.startswith(mark):
            raise SourceError(f"{name} text, which Python does not run: save it as UTF-8")
    has_bom = data.startswith(codecs.BOM_UTF8)
    body = data[len(codecs.BOM_UTF8) :] if has_bom else data
    nul = body.find(b"\0")
    if nul >= 0:
        raise SourceError("the file holds a NUL byte: it is not Python text", _line_of(body, nul))
    encoding = _encoding(body, has_bom)
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError as error:
        raise SourceError(
            f"byte 0x{body[error.start]:02x} is not valid {encoding}", _line_of(body, error.start)
        ) from None
    if text.encode(encoding) != body:
        raise SourceError(f"the file does not survive decoding as {encoding}: save it as UTF-8")
    lone = _LONE_CARRIAGE_RETURN.search(text) if "\r" in text else None
    if lone is not None:
        line = text.count("\n", 0, lone.start()) + 1
        raise SourceError("a carriage return without a line feed: use LF or CRLF line ends", line)
    return DecodedText(text, encoding, has_bom)


def _encoding(body: bytes, has_bom: bool) -> str:
    """The encoding that the cookie in the first two lines names, else UTF-8."""
    for number, line in enumerate(body.split(b"\n", 2)[:2], start=1):
        line = line.rstrip(b"\r")
        cookie = _COOKIE.match(line)
        if cookie is not None:
            return _checked(cookie.group(1).decode("ascii", "replace"), number, has_bom)
        if _BLANK_OR_COMMENT.match(line) is None:
            break
    return "utf-8"


def _checked(name: str, line: int, has_bom: bool) -> str:
    try:
        encoding = codecs.lookup(name).name
    except LookupError:
        raise SourceError(f"unknown encoding {name!r}", line) from None
    if encoding == "utf-8-sig":
        encoding = "utf-8"
    if _READABLE.fullmatch(encoding) is None:
        raise SourceError(f"encoding {name!r} is not one that source files are written in", line)
    if has_bom and encoding != "utf-8":
        raise SourceError(f"the UTF-8 byte-order mark contradicts the encoding {name!r}", line)
    return encoding


def _line_of(data: bytes, offset: int) -> int:
    return data.count(b"\n", 0, offset) + 1
