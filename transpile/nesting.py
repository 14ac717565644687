"""Cheap looks at a text before it is parsed: how deep it nests, and whether it is Python 2.

The parser recurses with the nesting of the code: a long sum exhausts its stack, a deeply nested
pattern its time. One regular expression over the text bounds the depth in advance, so that a
hostile file is refused on every machine alike, and before anything recurses.
"""

from __future__ import annotations

import re

from transpile.decoding import SourceError

MAXIMUM_LENGTH = 500_000
"""Most characters that are read; the parser needs about 20 microseconds for each."""

MAXIMUM_DEPTH = 200
"""Deepest nesting that is read; an operator counts one level, a bracket or a block four."""

MAXIMUM_PATTERN_DEPTH = 6
"""Deepest brackets in a ``case`` pattern: each level multiplies the parser's time by up to four."""

_BRACKET = 4
_BLOCK = 4

_STRING = (
    r"\"\"\"(?:[^\"\\]+|\\.|\"(?!\"\"))*(?:\"\"\")?"
    r"|'''(?:[^'\\]+|\\.|'(?!''))*(?:''')?"
    r"|\"(?:[^\"\\\n]+|\\.)*\"?"
    r"|'(?:[^'\\\n]+|\\.)*'?"
)
_WORDS = "elif|else|case|def|class|import|return|raise|while|with|try"
_TOKEN = re.compile(
    rf"(?P<string>{_STRING})|(?P<comment>\#[^\n]*)|(?P<joined>\\\r?\n)"
    r"|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<comma>[,;])|(?P<colon>:)"
    rf"|(?P<line>\n[ \t\f]*(?=[^\s\#])(?P<word>(?:{_WORDS})\b)?)"
    r"|(?P<chain>\*\*|//|<<|>>|[-+*/%@&|^~.]|\b(?:and|or|not|if|for|await)\b)"
    r"|(?P<lambda>\blambda\b)",
    re.DOTALL,
)
_FIELD = re.compile(r"[{}]|[-+*/%@&|^~.(\[<]|\b(?:and|or|not|if|for|lambda)\b")
_HEADERS = frozenset({"def", "class", "import", "return", "raise", "while", "with", "try"})


def check_nesting(text: str) -> None:
    """Refuse a text that the parser could not read in bounded time and stack.

    Args:
        text: the text of a Python file, right or wrong.

    Raises:
        SourceError: the text is too long or nested too deeply.
    """
    if len(text) > MAXIMUM_LENGTH:
        raise SourceError(f"the file is longer than {MAXIMUM_LENGTH} characters")
    blocks: list[tuple[int, int]] = [(0, 0)]
    base = depth = 0
    chains = [0]
    lambdas = [0]
    pattern = False
    for token in _TOKEN.finditer(text):
        kind = token.lastgroup
        if kind == "chain" or kind == "lambda":
            chains[-1] += 1
            depth += 1
            if kind == "lambda":
                lambdas[-1] += 1
        elif kind == "open":
            chains[-1] += 1
            chains.append(0)
            lambdas.append(0)
            depth += 1 + _BRACKET
            if pattern and len(chains) > MAXIMUM_PATTERN_DEPTH + 1:
                raise _too_deep(text, token.start())
        elif kind == "close":
            if len(chains) > 1:
                depth -= _BRACKET + chains.pop()
                lambdas.pop()
        elif kind == "comma":
            if not lambdas[-1]:
                depth -= chains[-1]
                chains[-1] = 0
        elif kind == "colon":
            if lambdas[-1]:
                lambdas[-1] -= 1
        elif kind == "string":
            levels = 1 + _field_depth(text, token.start(), token.end())
            chains[-1] += 1
            depth += levels
            if depth > MAXIMUM_DEPTH:
                raise _too_deep(text, token.start())
            depth -= levels - 1
        elif kind == "line" or kind == "word":
            word = token["word"]
            if len(chains) > 1 and word not in _HEADERS:
                continue
            # A header inside brackets is a syntax error, and the parser stops right there.
            indent = token.end() - token.start() - 1 - len(word or "")
            base = _enter_line(blocks, indent, word)
            depth = base
            chains = [0]
            lambdas = [0]
            pattern = word == "case"
        if depth > MAXIMUM_DEPTH:
            raise _too_deep(text, token.start())


def _enter_line(blocks: list[tuple[int, int]], indent: int, word: str | None) -> int:
    """Open and close blocks by a line's indentation; return the depth that they make.

    An ``elif`` counts one level: the tree holds it in the ``else`` of the clause above.
    """
    while len(blocks) > 1 and blocks[-1][0] > indent:
        blocks.pop()
    if blocks[-1][0] < indent:
        blocks.append((indent, 0))
    elif word == "elif":
        blocks[-1] = (indent, blocks[-1][1] + 1)
    elif word != "else":
        blocks[-1] = (indent, 0)
    return _BLOCK * (len(blocks) - 1) + sum(clauses for _, clauses in blocks)


def _field_depth(text: str, start: int, end: int) -> int:
    """How deep the replacement fields of a formatted string nest; 0 for other strings."""
    if not ("f" in (prefix := text[max(0, start - 2) : start].lower()) or "t" in prefix):
        return 0
    deepest = depth = 0
    fields: list[int] = []
    for token in _FIELD.finditer(text, start, end):
        character = token.group()
        if character == "{":
            fields.append(_BRACKET)
            depth += _BRACKET
        elif character == "}":
            if fields:
                depth -= fields.pop()
        elif fields:
            fields[-1] += 1
            depth += 1
        deepest = max(deepest, depth)
    return deepest


def _too_deep(text: str, offset: int) -> SourceError:
    line = text.count("\n", 0, offset) + 1
    return SourceError("nested too deeply to be analysed (a chain of operators or brackets)", line)


_PYTHON_2 = (
    (
        "print statement",
        re.compile(r"^[ \t]*(?:.*:[ \t]*)?print[ \t]+(?![=(.,\[:])\S", re.MULTILINE),
    ),
    ("print statement", re.compile(r"^[ \t]*print[ \t]*>>", re.MULTILINE)),
    ("'except X, e' clause", re.compile(r"^[ \t]*except\b[^:#\n]*,[ \t]*\w+[ \t]*:", re.MULTILINE)),
    ("exec statement", re.compile(r"^[ \t]*exec[ \t]+[^=(\s]", re.MULTILINE)),
    ("'raise X, message' statement", re.compile(r"^[ \t]*raise[ \t]+[\w.]+[ \t]*,", re.MULTILINE)),
    ("backticks", re.compile(r"`[^`\n]+`")),
    ("'<>' operator", re.compile(r"<>")),
    ("octal number", re.compile(r"(?<![\w.])0[0-7]+(?![\w.])")),
    ("ur'' string", re.compile(r"\b[uU][rR]''")),
)
_HANDLER = re.compile(
    r"^[ \t]*except[ \t]+(?:\([^()\n]*\)|[\w.]+)[ \t]*,[ \t]*[a-z_]\w*[ \t]*:", re.MULTILINE
)


def find_python2(text: str) -> tuple[str, int]:
    """Look for what only Python 2 can read.

    Args:
        text: a text that is not valid Python 3.

    Returns:
        What was found, and its 1-based line; ``("", 0)`` where nothing was.
    """
    bare = _without_strings(text)
    places = ((found.start(), name) for name, form in _PYTHON_2 for found in form.finditer(bare))
    start, name = min(places, default=(-1, ""))
    return (name, bare.count("\n", 0, start) + 1) if name else ("", 0)


def find_python2_handler(text: str) -> int:
    """Look for ``except X, e:``, which a newer grammar reads as a tuple of two exceptions.

    Args:
        text: a text that the parser accepted.

    Returns:
        The 1-based line of the first one whose second part is named like a variable; 0 for none.
    """
    if _HANDLER.search(text) is None:
        return 0
    bare = _without_strings(text)
    found = _HANDLER.search(bare)
    return bare.count("\n", 0, found.start()) + 1 if found else 0


def _without_strings(text: str) -> str:
    """The text with strings emptied to their quotes' first, and comments removed; same lines."""
    return _TOKEN.sub(_blanked, text)


def _blanked(token: re.Match[str]) -> str:
    if token.lastgroup == "string":
        return "''" + "\n" * token.group().count("\n")
    return "" if token.lastgroup == "comment" else token.group()
