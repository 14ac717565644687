"""Making text of the input harmless where it is shown.

Names and strings of a script end up in messages. A terminal obeys control characters in them, a CI
server obeys workflow commands, a web page obeys Markdown; none of them may.
"""

from __future__ import annotations

import re
import unicodedata

# Control, format (bidirectional overrides), surrogate, line and paragraph separator.
_UNPRINTABLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_COMMAND = re.compile(r"^(\s*)::|##\[")
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~&$:=])")
_REFERENCE = re.compile(r"(@|\\#)(?=\w)")


def printable(text: str) -> str:
    """Return `text` on one line, with visible escapes for what is not printed as itself."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        _escape(character) if unicodedata.category(character) in _UNPRINTABLE else character
        for character in text
    )


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def log_line(text: str) -> str:
    """Return `text` as one printable line that no CI server takes for a command."""
    return _COMMAND.sub(lambda match: match[0][:-1] + "\\" + match[0][-1], printable(text))


def without_surrogates(text: str) -> str:
    """Return `text` encodable as UTF-8: undecodable bytes of a file name become escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def github_data(text: str) -> str:
    """Return `text` as the message of a workflow command; newlines stay newlines."""
    lines = (printable(line) for line in text.split("\n"))
    return "%0A".join(line.replace("%", "%25") for line in lines)


def github_property(text: str) -> str:
    """Return `text` as the value of a property of a workflow command."""
    return github_data(text).replace(":", "%3A").replace(",", "%2C")


def markdown(text: str) -> str:
    """Return `text` as plain Markdown text that is neither markup, mention nor link."""
    lines = (printable(line) for line in text.split("\n"))
    escaped = "<br>".join(_MARKDOWN.sub(r"\\\1", line) for line in lines)
    return _REFERENCE.sub(r"\1<!-- -->", escaped)
