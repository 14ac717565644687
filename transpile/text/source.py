"""A script as bytes, text and tree, and where in the text each node of the tree stands."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, TypeVar

import libcst

from transpile.records import dataclass
from transpile.text.decoding import DecodedText, SourceError, decode
from transpile.text.nesting import OLD_KEYWORD, check_nesting, find_python2, find_readable_python2
from transpile.text.places import Places, locate, parsable
from transpile.text.span import Span

__all__ = ["Source", "SourceError", "read_source"]

Node = TypeVar("Node", bound=libcst.CSTNode)

_INDENTATION = re.compile(r"[ \t\f]*")
_POSITION = re.compile(r"error at (\d+):(\d+)")
_STRINGS = tuple(
    getattr(libcst, name)
    for name in ("SimpleString", "FormattedString", "TemplatedString")
    if hasattr(libcst, name)
)


@dataclass(frozen=True, eq=False)
class Source:
    """One script that was read and parsed.

    Args:
        path: the file as the user named it.
        data: its bytes.
        decoded: its text, encoding and byte-order mark.
        newline: the newline that most of its lines end in.
        indent: one level of its indentation.
        tree: its concrete syntax tree; it ends with the last statement, comments behind that are
            in the text alone.
        places: where the nodes of the tree stand.
    """

    path: str
    data: bytes
    decoded: DecodedText
    newline: str
    indent: str
    tree: libcst.Module
    places: Places

    @property
    def text(self) -> str:
        """The text, newlines exactly as in the file, without byte-order mark."""
        return self.decoded.text

    @property
    def encoding(self) -> str:
        """Python's name of the file's encoding."""
        return self.decoded.encoding

    @property
    def has_bom(self) -> bool:
        """Whether the file begins with the UTF-8 byte-order mark."""
        return self.decoded.has_bom

    def encode(self, text: str) -> bytes:
        """Return `text` as bytes in the encoding of this file, with its byte-order mark.

        Raises:
            UnicodeEncodeError: the encoding lacks a character of `text`.
        """
        return self.decoded.encode(text)

    def span(self, node: libcst.CSTNode) -> Span:
        """Where a node stands: without surrounding whitespace and its own parentheses.

        A statement's span leaves out the comments and decorators above it.

        Raises:
            KeyError: the node is not part of this source's tree.
        """
        return self.places.span(node)

    def code(self, node: libcst.CSTNode) -> str:
        """The text of a node's span."""
        span = self.places.span(node)
        return self.text[span.start : span.end]

    @property
    def nodes(self) -> Iterable[libcst.CSTNode]:
        """Every node of the tree, each before what it holds."""
        return self.places.nodes

    def nodes_of(self, *kinds: type[Node]) -> Sequence[Node]:
        """The nodes of some kinds, in the order of the text."""
        found = self._by_kinds.get(kinds)
        if found is None:
            numbers = [number for kind in kinds for number in self._numbers.get(kind, ())]
            nodes = self.places.nodes
            found = [nodes[number] for number in sorted(numbers)]
            self._by_kinds[kinds] = found
        return found  # type: ignore[return-value]

    @cached_property
    def _by_kinds(self) -> dict[tuple[type[libcst.CSTNode], ...], list[libcst.CSTNode]]:
        """The nodes of one or several classes, as far as they were asked for."""
        return {}

    @cached_property
    def _numbers(self) -> dict[type[libcst.CSTNode], list[int]]:
        """The numbers of the nodes of each class: asking each node anew is what walks cost most."""
        found: dict[type[libcst.CSTNode], list[int]] = defaultdict(list)
        for number, kind in enumerate(map(type, self.places.nodes)):
            found[kind].append(number)
        return found

    @cached_property
    def answers(self) -> dict[tuple[object, int], Any]:
        """What was found out about nodes, by who asked and the node's identity."""
        return {}

    def has(self, node: libcst.CSTNode) -> bool:
        """Whether a node is part of this source's tree."""
        return id(node) in self.places.around

    def parent(self, node: libcst.CSTNode) -> libcst.CSTNode | None:
        """The node that holds this one; None for the module.

        Raises:
            KeyError: the node is not part of this source's tree.
        """
        return self.places.around[id(node)]

    def parents(self, node: libcst.CSTNode) -> Iterator[libcst.CSTNode]:
        """The nodes around this one, from the nearest to the module."""
        around = self.places.around
        outer = around[id(node)]
        while outer is not None:
            yield outer
            outer = around[id(outer)]

    def parents_of(self, identity: int) -> Iterator[libcst.CSTNode]:
        """The nodes around the one of an identity, as :meth:`parents`; none of another source's."""
        around = self.places.around
        outer = around.get(identity)
        while outer is not None:
            yield outer
            outer = around[id(outer)]

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column, both 1-based and in characters, of an offset into the text."""
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def line_start(self, offset: int) -> int:
        """Offset of the first character of the line that `offset` lies in."""
        return self.text.rfind("\n", 0, offset) + 1

    def next_line_start(self, offset: int) -> int:
        """Offset of the line after that of `offset`, or of the end of the text."""
        feed = self.text.find("\n", offset)
        return len(self.text) if feed < 0 else feed + 1

    def indentation_of(self, offset: int) -> str:
        """The whitespace that the line of `offset` begins with."""
        blanks = _INDENTATION.match(self.text, self.line_start(offset))
        return blanks.group().rpartition("\f")[2] if blanks else ""

    @cached_property
    def multiline_strings(self) -> tuple[Span, ...]:
        """The string literals that reach over a line end: no layout may touch their inside."""
        text = self.text
        return tuple(
            sorted(
                span
                for node in self.places.nodes
                if isinstance(node, _STRINGS)
                and "\n" in text[(span := self.span(node)).start : span.end]
            )
        )

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0] + [found.end() for found in re.finditer("\n", self.text)]


def read_source(data: bytes, path: str) -> Source:
    """Read one script.

    Args:
        data: the bytes of the file.
        path: the name to keep for reports; nothing is opened.

    Raises:
        SourceError: the bytes are not a Python 3 script that can be rewritten; nothing hangs.
    """
    decoded = decode(data)
    text = decoded.text
    check_nesting(text)
    read = parsable(text)
    try:
        tree = libcst.parse_module(read)
        places = locate(tree, read, text)
    except libcst.ParserSyntaxError as error:
        raise _syntax_error(text, error) from None
    except RecursionError:
        raise SourceError("the script is nested too deeply to be analysed") from None
    construct, line = find_readable_python2(text)
    if construct:
        raise _python2(construct, line)
    return Source(
        path=path,
        data=data,
        decoded=decoded,
        newline="\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n",
        indent=tree.default_indent.strip("\f") or "    ",
        tree=tree,
        places=places,
    )


def _python2(construct: str, line: int) -> SourceError:
    return SourceError(f"this looks like Python 2 ({construct})", line, 1)


def _syntax_error(text: str, error: libcst.ParserSyntaxError) -> SourceError:
    """Say what is wrong in Python's own words, which are better than a parser generator's."""
    construct, line = find_python2(text)
    if construct == OLD_KEYWORD:
        return SourceError(f"syntax error: {construct}", line, 1)
    if construct:
        return _python2(construct, line)
    import ast
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except SyntaxError as own:
        message = own.msg or "invalid syntax"
        return SourceError(f"syntax error: {message}", own.lineno or 0, own.offset or 0)
    except (ValueError, RecursionError, MemoryError):
        pass
    found = _POSITION.search(error.message)
    if found is not None:
        return SourceError("syntax error", int(found.group(1)), int(found.group(2)) + 1)
    message = error.message.splitlines()[0].removeprefix("tokenizer error: ")
    return SourceError(f"syntax error: {message}", error.raw_line, error.raw_column + 1)
