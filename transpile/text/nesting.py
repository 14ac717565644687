"""Cheap looks at a text before it is parsed: how deep it nests, and whether it is Python 2.

The parser recurses with the nesting of the code: a long sum exhausts its stack, a deeply nested
pattern its time. One regular expression over the text bounds the depth in advance, so that a
hostile file is refused on every machine alike, and before anything recurses.
"""

from __future__ import annotations

import re
from itertools import islice
from string import ascii_lowercase

from transpile.text.decoding import SourceError

MAXIMUM_LENGTH = 500_000
"""Most characters that are read; the parser needs about 20 microseconds for each."""

MAXIMUM_DEPTH = 200
"""Deepest nesting that is read; an operator counts one level, a bracket four, a block eight.

The weights follow the stack that the parser uses: what passes is read on a stack of 1 MiB.
"""

MAXIMUM_PATTERN_DEPTH = 6
"""Deepest brackets in a ``case`` pattern: each level multiplies the parser's time by up to four."""

_LETTERS = ascii_lowercase
_PREFIX = re.compile(r"[A-Za-z]+\Z")
_BRACKET = 4
_BLOCK = 8

_STRING = (
    r"\"\"\"(?:[^\"\\]+|\\.|\"(?!\"\"))*(?:\"\"\")?"
    r"|'''(?:[^'\\]+|\\.|'(?!''))*(?:''')?"
    r"|\"(?:[^\"\\\n]+|\\.)*\"?"
    r"|'(?:[^'\\\n]+|\\.)*'?"
)
_HEADERS = frozenset({"def", "class", "import", "return", "raise", "while", "with", "try"})
_LINE_WORDS = "|".join(sorted(_HEADERS | {"elif", "else", "case"}))
_TOKEN = re.compile(
    rf"{_STRING}|\#[^\n]*|\\\r?\n"
    r"|[(\[{)\]},;:]"
    rf"|\n[ \t\f]*(?=[^\s\#])(?:(?:{_LINE_WORDS})\b)?"
    r"|\*\*|//|<<|>>|[-+*/%@&|^~.]|\b(?:and|or|not|if|for|await|lambda)\b",
    re.DOTALL,
)
_CHAIN, _OPEN, _CLOSE, _COMMA, _COLON, _LAMBDA = range(6)
_OPERATORS = ("**", "//", "<<", ">>", *"-+*/%@&|^~.", "and", "or", "not", "if", "for", "await")
_KINDS = {
    **dict.fromkeys(_OPERATORS, _CHAIN),
    **dict.fromkeys("([{", _OPEN),
    **dict.fromkeys(")]}", _CLOSE),
    **dict.fromkeys(",;", _COMMA),
    ":": _COLON,
    "lambda": _LAMBDA,
}
_FIELD = re.compile(r"[{}]|[-+*/%@&|^~.(\[<]|\b(?:and|or|not|if|for|lambda)\b")


def check_nesting(text: str) -> None:
    """Refuse a text that the parser could not read in bounded time and stack.

    Args:
        text: the text of a Python file, right or wrong.

    Raises:
        SourceError: the text is too long or nested too deeply.
    """
    if len(text) > MAXIMUM_LENGTH:
        raise SourceError(f"the file is longer than {MAXIMUM_LENGTH} characters")
    index = _first_too_deep(text, _TOKEN.findall(text))
    if index is not None:
        line = text.count("\n", 0, _offset(text, index)) + 1
        message = "nested too deeply to be analysed (a chain of operators or brackets)"
        raise SourceError(message, line)


def _first_too_deep(text: str, tokens: list[str]) -> int | None:
    """Index of the first token at which the nesting exceeds a limit.

    Args:
        text: the text that the tokens are from.
        tokens: strings, comments, brackets, operators and beginnings of lines, in order.
    """
    blocks: list[tuple[int, int]] = [(0, 0)]
    depth = 0
    # For each open bracket: operators since the last comma, and lambdas without their colon.
    chains = [0]
    lambdas = [0]
    pattern = False
    kind_of = _KINDS.get
    for index, token in enumerate(tokens):
        kind = kind_of(token)
        if kind == _CHAIN:
            chains[-1] += 1
            depth += 1
        elif kind == _OPEN:
            chains[-1] += 1
            chains.append(0)
            lambdas.append(0)
            depth += 1 + _BRACKET
            if pattern and len(chains) > MAXIMUM_PATTERN_DEPTH + 1:
                return index
        elif kind == _CLOSE:
            if len(chains) > 1:
                depth -= _BRACKET + chains.pop()
                lambdas.pop()
            continue
        elif kind == _COMMA:
            if not lambdas[-1]:
                depth -= chains[-1]
                chains[-1] = 0
            continue
        elif kind == _COLON:
            if lambdas[-1]:
                lambdas[-1] -= 1
            continue
        elif kind == _LAMBDA:
            chains[-1] += 1
            lambdas[-1] += 1
            depth += 1
        elif token[0] in "\"'":
            chains[-1] += 1
            depth += 1
            if (
                "{" in token
                and depth + _field_depth(token) > MAXIMUM_DEPTH
                and _is_formatted(text, _offset(text, index))
            ):
                return index
        elif token[0] == "\n":
            bare = token.rstrip(_LETTERS)
            word = token[len(bare) :]
            if len(chains) > 1:
                if word not in _HEADERS:
                    continue
                # A header inside brackets is a syntax error, and the parser stops right there.
                chains = [0]
                lambdas = [0]
            depth = _enter_line(blocks, len(bare) - 1, word)
            chains[0] = lambdas[0] = 0
            pattern = word == "case"
        if depth > MAXIMUM_DEPTH:
            return index
    return None


def _enter_line(blocks: list[tuple[int, int]], indent: int, word: str) -> int:
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


def _field_depth(string: str) -> int:
    """How deep the replacement fields nest, should the string be a formatted one."""
    deepest = depth = 0
    fields: list[int] = []
    for token in _FIELD.findall(string):
        if token == "{":
            fields.append(_BRACKET)
            depth += _BRACKET
        elif token == "}":
            if fields:
                depth -= fields.pop()
        elif fields:
            fields[-1] += 1
            depth += 1
        deepest = max(deepest, depth)
    return deepest


def _is_formatted(text: str, quote: int) -> bool:
    """Whether the string whose quote stands at an offset has a prefix that formats it."""
    prefix = _PREFIX.search(text, max(0, quote - 2), quote)
    return prefix is not None and bool(set(prefix.group().lower()) & {"f", "t"})


def _offset(text: str, index: int) -> int:
    """Offset of a token by its index."""
    return next(islice(_TOKEN.finditer(text), index, None)).start()


OLD_KEYWORD = "'async' is a keyword since Python 3.7 and cannot name an argument"

_PYTHON_2 = (
    (OLD_KEYWORD, re.compile(r"\basync[ \t]*=(?!=)")),
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
_READABLE_PYTHON_2 = (
    (
        "'except X, e' clause",
        re.compile(r"(?m)^[ \t]*except[ \t]+(?:\([^()\n]*\)|[\w.]+)[ \t]*,[ \t]*[a-z_]\w*[ \t]*:"),
    ),
    ("print statement", re.compile(r"(?m)^[ \t]*print[ \t]*>>")),
)


def find_python2(text: str) -> tuple[str, int]:
    """Look for what only Python 2 can read.

    Args:
        text: a text that is not valid Python 3.

    Returns:
        What was found, and its 1-based line; ``("", 0)`` where nothing was.
    """
    return _first_form(_without_strings(text), _PYTHON_2)


def find_readable_python2(text: str) -> tuple[str, int]:
    """Look for statements of Python 2 that mean something else in Python 3.

    ``except X, e:`` is a tuple of two exceptions for newer grammars, ``print >>f, x`` a shift.

    Args:
        text: a text that the parser accepted.

    Returns:
        What was found, and its 1-based line; ``("", 0)`` where nothing was.
    """
    if not any(form.search(text) for _, form in _READABLE_PYTHON_2):
        return "", 0
    return _first_form(_without_strings(text), _READABLE_PYTHON_2)


def _first_form(bare: str, forms: tuple[tuple[str, re.Pattern[str]], ...]) -> tuple[str, int]:
    places = ((found.start(), name) for name, form in forms for found in form.finditer(bare))
    start, name = min(places, default=(-1, ""))
    return (name, bare.count("\n", 0, start) + 1) if name else ("", 0)


def _without_strings(text: str) -> str:
    """The text with strings emptied to their quotes' first, and comments removed; same lines."""
    return _TOKEN.sub(_blanked, text)


def _blanked(found: re.Match[str]) -> str:
    token = found.group()
    if token[0] in "\"'":
        return "''" + "\n" * token.count("\n")
    return "" if token[0] == "#" else token
