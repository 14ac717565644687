"""Words for shells, such that nothing in them means anything to the shell."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

_PLAIN = re.compile(r"[ -~]+")
_SPECIAL = re.compile(r'[$`"\\]')
#: Words that mean something to a shell where a command may begin.
_RESERVED = frozenset(
    {
        "if", "then", "else", "elif", "fi", "case", "esac", "for", "select", "while", "until", "do",
        "done", "in", "function", "time", "coproc", "foreach", "end", "repeat", "nocorrect",
    }
)  # fmt: skip
_ESCAPES = {"\n": r"\n", "\t": r"\t", "\r": r"\r", "\\": r"\\", "'": r"\'"}


def quote(word: str) -> str:
    """Return `word` as a POSIX shell reads it back unchanged, on several lines where it has some.

    Args:
        word: any text without NUL characters.
    """
    # An equals sign in front is a command's path to zsh, and a mistake to checkers, as is a word of
    # the shell's own language.
    plain = shlex.quote(word) == word and not word.startswith("=") and word not in _RESERVED
    if word and plain:
        return word
    # Double quotes only where needed, because they need more escapes; checkers of shell scripts
    # take a dollar sign or a typographic quote within single quotes for a mistake.
    if not word or (_PLAIN.fullmatch(word) and not re.search(r"['$`\\]", word)):
        return f"'{word}'"
    return '"' + _SPECIAL.sub(r"\\\g<0>", word) + '"'


def quote_on_one_line(words: Iterable[str]) -> str:
    """Return `words` as one line that a shell of today reads back unchanged.

    Where a word has characters that cannot be seen, the quotes are ``$'...'``, which bash, zsh and
    ksh know.

    Args:
        words: any texts without NUL characters.
    """
    return " ".join(quote(word) if word.isprintable() else _escaped(word) for word in words)


def _escaped(word: str) -> str:
    return "$'" + "".join(map(_escaped_character, word)) + "'"


def _escaped_character(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    return "".join(f"\\{byte:03o}" for byte in character.encode("utf-8", "surrogateescape"))
