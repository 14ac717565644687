"""Where each node of a tree stands in the text, and which node holds it.

One pass writes the tree out and counts; asking libcst's own providers costs ten times as much.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from itertools import accumulate

import libcst
from libcst._nodes.internal import CodegenState

from transpile.records import dataclass
from transpile.text.decoding import SourceError
from transpile.text.span import Span

_FORM_FEED = re.compile(r"^\f+(?=\S)", re.MULTILINE)


def parsable(text: str) -> str:
    """The part of the text that the parser reads, in a form that it can reproduce.

    The parser loses blank lines among those that follow the last statement, does without the last
    newline in its own way, and drops form feeds in front of code.
    """
    if "\f" in text:
        text = _FORM_FEED.sub("", text)
    end = len(text)
    while end:
        start = text.rfind("\n", 0, end - 1) + 1
        line = text[start:end].strip()
        if line and not line.startswith("#"):
            break
        end = start
    if end < len(text) and not text[:end].rstrip("\r\n").endswith("\\"):
        return text[:end]
    return text if text.endswith("\n") else text + "\n"


@dataclass(frozen=True)
class Places:
    """Where every node stands, and the node that holds it.

    Args:
        nodes: every node, each before what it holds.
        first: for each node, by its identity, the number of tokens before it.
        last: the same for the number of tokens up to its end.
        starts: offset of a beginning by the number of tokens before it.
        ends: offset of an end by the number of tokens before it.
        around: for each node, by its identity, the one that holds it.
        statements: the numbers of tokens and of nodes before each statement of the module, and
            those up to the end of the last; empty where they are not known.
    """

    nodes: list[libcst.CSTNode]
    first: dict[int, int]
    last: dict[int, int]
    starts: list[int]
    ends: list[int]
    around: dict[int, libcst.CSTNode | None]
    statements: tuple[tuple[int, int], ...] = ()

    def span(self, node: libcst.CSTNode) -> Span:
        """Where a node stands."""
        start = self.starts[self.first[id(node)]]
        return Span(start, max(start, self.ends[self.last[id(node)]]))


def locate(tree: libcst.Module, parsed: str, text: str) -> Places:
    """Find every node's place.

    Args:
        tree: the tree.
        parsed: what it was parsed from, see `parsable`.
        text: the text that the places are wanted in.

    Raises:
        RecursionError: the tree is too deep.
        SourceError: the tree does not give the text back, so that no place could be trusted.
    """
    state = PlacingState(tree)
    statements = state.write(tree)
    generated = "".join(state.tokens)
    if generated != parsed:
        pairs = zip(generated, parsed, strict=False)
        same = next((index for index, (a, b) in enumerate(pairs) if a != b), 0)
        line = parsed.count("\n", 0, same) + 1
        raise SourceError("the parser does not reproduce the whitespace of this line", line)
    starts = [0, *accumulate(map(len, state.tokens))]
    ends = starts
    if parsed != text:
        starts, ends = _into_original(starts, text)
    return Places(state.nodes, state.first, state.last, starts, ends, state.around, statements)


def _into_original(offsets: list[int], text: str) -> tuple[list[int], list[int]]:
    """Turn offsets into what the parser read into offsets into the text, as starts and as ends."""
    cuts: list[int] = []
    for found in _FORM_FEED.finditer(text):
        cuts += [found.start() - len(cuts)] * len(found.group())
    starts = [min(offset + bisect_right(cuts, offset), len(text)) for offset in offsets]
    ends = [min(offset + bisect_left(cuts, offset), len(text)) for offset in offsets]
    return starts, ends


class PlacingState(CodegenState):
    """Writes the tree out as libcst does and notes how many tokens stand before each node.

    The methods that run for every token and node are closures and a bare ``list.append``: this is
    most of what a conversion costs beyond parsing. So are nodes told apart by their identity, as
    libcst computes their hash in Python.
    """

    __slots__ = (
        "add_token",
        "after_codegen",
        "around",
        "before_codegen",
        "first",
        "last",
        "nodes",
        "record_syntactic_position",
    )

    def __init__(self, tree: libcst.Module) -> None:
        super().__init__(default_indent=tree.default_indent, default_newline=tree.default_newline)
        tokens = self.tokens
        nodes: list[libcst.CSTNode] = []
        first: dict[int, int] = {}
        last: dict[int, int] = {}
        around: dict[int, libcst.CSTNode | None] = {}
        open_nodes: list[libcst.CSTNode | None] = [None]

        def before_codegen(node: libcst.CSTNode) -> None:
            identity = id(node)
            around[identity] = open_nodes[-1]
            open_nodes.append(node)
            nodes.append(node)
            first[identity] = len(tokens)

        def after_codegen(node: libcst.CSTNode) -> None:
            open_nodes.pop()
            last.setdefault(id(node), len(tokens))

        syntactic = _Syntactic(tokens, first, last)
        under_way = syntactic.under_way

        def record_syntactic_position(
            node: libcst.CSTNode,
            *,
            start_node: libcst.CSTNode | None = None,
            end_node: libcst.CSTNode | None = None,
        ) -> _Syntactic:
            first[id(node)] = len(tokens)
            under_way.append((node, start_node, end_node))
            return syntactic

        self.nodes = nodes
        self.first = first
        self.last = last
        self.record_syntactic_position = record_syntactic_position  # type: ignore[assignment]
        self.around = around
        self.add_token = tokens.append  # type: ignore[assignment, method-assign]
        self.before_codegen = before_codegen  # type: ignore[method-assign]
        self.after_codegen = after_codegen  # type: ignore[method-assign]

    def write(self, tree: libcst.Module) -> tuple[tuple[int, int], ...]:
        """Write a module out as it does itself; gives what stands before each statement."""
        self.before_codegen(tree)
        for line in tree.header:
            line._codegen(self)
        statements = []
        for statement in tree.body:
            statements.append((len(self.tokens), len(self.nodes)))
            statement._codegen(self)
        statements.append((len(self.tokens), len(self.nodes)))
        for line in tree.footer:
            line._codegen(self)
        if not tree.has_trailing_newline:
            self.pop_trailing_newline()
        elif not self.tokens:
            self.add_token(self.default_newline)
        self.after_codegen(tree)
        return tuple(statements)


class _Syntactic:
    """Notes the places of nodes without the whitespace and parentheses around them.

    One context manager serves all nodes; it keeps those under way on a stack.
    """

    __slots__ = ("first", "last", "tokens", "under_way")

    def __init__(
        self,
        tokens: list[str],
        first: dict[int, int],
        last: dict[int, int],
    ) -> None:
        self.tokens = tokens
        self.first = first
        self.last = last
        self.under_way: list[
            tuple[libcst.CSTNode, libcst.CSTNode | None, libcst.CSTNode | None]
        ] = []

    def __enter__(self) -> None:
        return None

    def __exit__(self, *error: object) -> None:
        node, start_node, end_node = self.under_way.pop()
        if error[0] is not None:
            # What stands inside has no place: the error is what matters.
            return
        if start_node is not None:
            self.first[id(node)] = self.first[id(start_node)]
        end = len(self.tokens) if end_node is None else self.last[id(end_node)]
        self.last[id(node)] = end
