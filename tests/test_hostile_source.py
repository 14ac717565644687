"""Input that must be refused with one clear line, quickly, and never crash the process."""

from __future__ import annotations

import codecs
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from transpile.text.source import SourceError, read_source

LIMIT_SECONDS = 2.0


def refusal(data: bytes) -> SourceError:
    """The refusal of a file; fails where it is read or takes too long."""
    start = time.process_time()
    with pytest.raises(SourceError) as caught:
        read_source(data, "train.py")
    assert time.process_time() - start < LIMIT_SECONDS
    assert "\n" not in caught.value.message
    assert caught.value.message
    return caught.value


def accepted(text: str) -> None:
    start = time.process_time()
    read_source(text.encode(), "train.py")
    assert time.process_time() - start < LIMIT_SECONDS


class TestBytes:
    def test_nul(self) -> None:
        error = refusal(b"a = 1\nb = '\0'\n")
        assert (error.message, error.line) == (
            "the file holds a NUL byte: it is not Python text",
            2,
        )

    @pytest.mark.parametrize(
        "name",
        [
            "rot13",
            "utf-7",
            "idna",
            "punycode",
            "raw_unicode_escape",
            "unicode_escape",
            "base64",
            "hex",
            "zlib",
            "bz2",
            "utf-16",
            "utf-32",
            "undefined",
            "uu",
            "nowhere",
        ],
    )
    def test_exotic_encodings(self, name: str) -> None:
        error = refusal(f"# coding: {name}\na = 1\n".encode())
        assert repr(name) in error.message
        assert error.line == 1

    @pytest.mark.parametrize("name", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
    def test_wide_text(self, name: str) -> None:
        mark = {
            "utf-16-le": codecs.BOM_UTF16_LE,
            "utf-16-be": codecs.BOM_UTF16_BE,
            "utf-32-le": codecs.BOM_UTF32_LE,
            "utf-32-be": codecs.BOM_UTF32_BE,
        }[name]
        error = refusal(mark + "a = 1\n".encode(name))
        assert error.message.startswith(f"UTF-{name[4:6]} text")

    def test_undecodable_bytes(self) -> None:
        error = refusal(b"a = 1\nb = '\xff'\n")
        assert (error.message, error.line) == ("byte 0xff is not valid utf-8", 2)
        assert refusal(b"# coding: ascii\nb = '\xe9'\n").line == 2

    def test_contradicting_mark_and_cookie(self) -> None:
        error = refusal(codecs.BOM_UTF8 + b"# coding: latin-1\n")
        assert "contradicts" in error.message

    def test_lone_carriage_returns(self) -> None:
        assert refusal(b"a = 1\r\nb = 2\rc = 3\n").line == 2

    def test_bytes_that_are_no_text(self) -> None:
        refusal(bytes(range(1, 256)))
        refusal(b"\x7fELF" + bytes(100))


class TestPython2:
    @pytest.mark.parametrize(
        ("text", "construct", "line"),
        [
            ("import os\nprint 'loss', loss\n", "print statement", 2),
            ("if x: print x\n", "print statement", 1),
            ("print >>f, x\n", "print statement", 1),
            ("try:\n    f()\nexcept IOError, e:\n    pass\n", "'except X, e' clause", 3),
            ("try:\n    f()\nexcept (A, B), e:\n    pass\n", "'except X, e' clause", 3),
            ("exec 'a = 1'\n", "exec statement", 1),
            ("raise ValueError, 'no'\n", "'raise X, message' statement", 1),
            ("a = `b`\n", "backticks", 1),
            ("if a <> b:\n    pass\n", "'<>' operator", 1),
            ("os.chmod(f, 0755)\n", "octal number", 1),
            ("a = ur'x'\n", "ur'' string", 1),
        ],
    )
    def test_is_named(self, text: str, construct: str, line: int) -> None:
        error = refusal(text.encode())
        assert error.message == f"this looks like Python 2 ({construct})"
        assert error.line == line

    @pytest.mark.parametrize(
        "text",
        [
            "print('x')\nprint\nprint (x)\nprinter = 1\nprint = log\n",
            "'''\nprint x\nexcept A, e:\n'''\n",
            "# except A, e:\ntry: pass\nexcept (A, B): pass\n",
            "try: pass\nexcept A, B: pass\n",
            "exec('x')\n",
        ],
    )
    def test_python_3_is_not(self, text: str) -> None:
        accepted(text)

    def test_arguments_called_async_are_named(self) -> None:
        error = refusal(b"import torch\nx = x.cuda(async=True)\n")
        assert error.message.startswith("syntax error: 'async' is a keyword since Python 3.7")
        assert error.line == 2

    def test_other_errors_are_not(self) -> None:
        assert "Python 2" not in refusal(b"def f(:\n    print(x)\n").message


DEEP: dict[str, Callable[[int], str]] = {
    "sum": lambda n: "a = " + "+".join(["1"] * n),
    "mixed": lambda n: "a = " + "+1*".join(["1"] * n),
    "parentheses": lambda n: "a = " + "(" * n + "1" + ")" * n,
    "tuples": lambda n: "a = " + "(" * n + "1," + ")" * n,
    "lists": lambda n: "a = " + "[" * n + "1" + "]" * n,
    "dicts": lambda n: "a = " + "{1:" * n + "1" + "}" * n,
    "calls": lambda n: "a = " + "f(" * n + "1" + ")" * n,
    "items": lambda n: "a = " + "x[" * n + "1" + "]" * n,
    "attributes": lambda n: "a = x" + ".b" * n,
    "methods": lambda n: "a = x" + ".b()" * n,
    "not": lambda n: "a = " + "not " * n + "1",
    "minus": lambda n: "a = " + "-" * n + "1",
    "power": lambda n: "a = " + "2**" * n + "1",
    "conditional": lambda n: "a = " + "1 if x else " * n + "1",
    "lambda": lambda n: "a = " + "lambda: " * n + "1",
    "lambda with parameters": lambda n: "a = " + "lambda x, y: " * n + "1",
    "and": lambda n: "a = " + "x and " * n + "1",
    "strings": lambda n: "a = " + "'x' " * n,
    "strings over lines": lambda n: "a = (\n" + "    'x'\n" * n + ")",
    "elif": lambda n: "if x: pass\n" + "elif y: pass\n" * n,
    "blocks": lambda n: "".join(" " * i + "if x:\n" for i in range(n)) + " " * n + "pass",
    "field": lambda n: "a = f'{" + "+".join(["1"] * n) + "}'",
    "fields": lambda n: "a = f'" + "{x:" * n + "}" * n + "'",
    "comprehensions": lambda n: "a = " + "[" * n + "x" + " for x in y]" * n,
    "loops": lambda n: "a = [x" + " for x in y" * n + "]",
    "pattern": lambda n: "match x:\n    case " + "[" * n + "1" + "]" * n + ": pass",
    "mapping pattern": lambda n: "match x:\n    case " + "{1: " * n + "1" + "}" * n + ": pass",
    "import": lambda n: "import " + "a." * n + "b",
    "unclosed": lambda n: "a = " + "(" * n,
    "unclosed dict": lambda n: "a = " + "{1: [" * n,
}


@pytest.mark.parametrize("size", [500, 20_000])
@pytest.mark.parametrize("kind", DEEP)
def test_deep_nesting_is_refused(kind: str, size: int) -> None:
    text = DEEP[kind](min(size, 900) if kind == "blocks" else size) + "\n"
    assert refusal(text.encode()).line > 0


@pytest.mark.parametrize("kind", DEEP)
def test_what_people_write_is_read(kind: str) -> None:
    if not kind.startswith("unclosed"):
        accepted(DEEP[kind](5) + "\n")


@pytest.mark.parametrize(
    "text",
    [
        "a = [\n" + "    x.y(1) + 2,\n" * 500 + "]\n",
        "a = {\n" + "    'k': lambda x, y: x + y,\n" * 300 + "}\n",
        "f(" + "a=b.c, " * 500 + ")\n",
        "if x:\n    pass\n" * 300,
        "if x: pass\nelif y: pass\n" * 300,
        "class A:\n" + "    def f(self):\n        if x: pass\n        elif y: pass\n" * 200,
        "a = '''{" + "x + y * z.w " * 300 + "}'''\n",
        "a = '''" + "don't (" * 500 + "'''\n",
        "# " + "((((" * 500 + "\na = 1\n",
        "a.b(c)\n" * 1000,
        "a = 1; " * 500 + "\n",
        "match = [[[[[[[[1]]]]]]]]\ncase = 1\n",
        "a = " + "+".join(["1"] * 150) + "\n",
        "s = x" + ".a(1)" * 30 + "\n",
    ],
)
def test_long_is_not_deep(text: str) -> None:
    accepted(text)


def test_refusal_does_not_depend_on_the_stack_of_the_caller() -> None:
    """Right at the limit, a file is read from deep inside a program too."""
    text = "a = " + "+".join(["1"] * 190) + "\n"

    def nested(levels: int) -> None:
        if levels:
            nested(levels - 1)
        else:
            accepted(text)

    nested(200)


def test_the_deepest_blocks_are_read_on_a_small_stack() -> None:
    """Some main threads have one mebibyte; to overflow it kills the process."""
    program = (
        "import sys, threading\n"
        "from transpile.text.source import read_source\n"
        "threading.stack_size(1024 * 1024)\n"
        "thread = threading.Thread(target=read_source, args=(sys.stdin.buffer.read(), 'x'))\n"
        "thread.start()\nthread.join()\nprint('read')\n"
    )
    for kind, depth in (("blocks", 24), ("calls", 39), ("dicts", 39), ("sum", 190)):
        result = subprocess.run(
            [sys.executable, "-c", program],
            input=(DEEP[kind](depth) + "\n").encode(),
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert (result.stdout, result.stderr) == (b"read\n", b""), kind


def test_endless_file() -> None:
    error = refusal(b"a = 1\n" * 100_000)
    assert error.message == "the file is longer than 500000 characters"


def test_missing_bracket_is_a_syntax_error_not_nesting() -> None:
    text = "a = f(1\n" + "import os\nx.y.z = a + b\n" * 300
    assert refusal(text.encode()).message.startswith("syntax error")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("def f():\n  x\n    y\n", 3),
        ("f(1,\n", 1),
        ("a = 'open\n", 1),
        ("a = '''open\n\n", 1),
        ("a = 1 \\\n", 1),
        ("if x:\n        a\n\tb\n", 3),
        ("a = 1\x01\n", 1),
        ("return = 1\n", 1),
        ("a = 1 $ 2\n", 1),
        ("if x:\n", 1),
    ],
)
def test_syntax_errors(text: str, line: int) -> None:
    error = refusal(text.encode())
    assert error.message.startswith("syntax error: ")
    assert abs(error.line - line) <= 1
