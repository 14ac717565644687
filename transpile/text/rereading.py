"""Reading what has become of a script: only the statements that changed are parsed again.

A conversion leaves most statements of a module as they are, and reads what it has written before it
gives it out. The nodes of statements that stayed serve both trees, and so does what is known of
their places, but for the distance that they have moved.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

import libcst

from transpile.records import dataclass, replace
from transpile.text.decoding import decode
from transpile.text.nesting import check_nesting
from transpile.text.places import Places, PlacingState, parsable
from transpile.text.source import Source, read_source


@dataclass(frozen=True)
class Stayed:
    """Statements that stayed: the number of the first, that behind the last, where they are now."""

    first: int
    end: int
    start: int


@dataclass(frozen=True)
class Changed:
    """A part of the text that was not there before."""

    start: int
    end: int


def reread(before: Source, data: bytes) -> Source:
    """Read what a source has become: as :func:`read_source` does, in less time.

    Args:
        before: the source as it was.
        data: the bytes that it is now.

    Raises:
        SourceError: the bytes are not a Python 3 script.
    """
    decoded = decode(data)
    text = decoded.text
    check_nesting(text)
    made = None
    if decoded.encoding == before.encoding and parsable(text) == text:
        try:
            made = Rereading(before, text).read()
        except (libcst.ParserSyntaxError, RecursionError):
            # What is wrong, if anything is, can be said of the whole text alone.
            made = None
    if made is None:
        return read_source(data, before.path)
    newline = "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"
    tree, places = made
    return replace(before, data=data, decoded=decoded, newline=newline, tree=tree, places=places)


class Rereading:
    """One text on the way to its tree.

    Args:
        before: the source as it was.
        text: the text that it is now.
    """

    def __init__(self, before: Source, text: str) -> None:
        self.before = before
        self.text = text
        self.tree = before.tree
        self.old = before.places
        # A place that is left before these has its old number, and those of new ones follow.
        known = len(self.old.starts)
        self.state = PlacingState(before.tree)
        self.state.tokens.extend([""] * known)
        self.starts = [0] * known
        self.ends = [0] * known
        self.nodes: list[libcst.CSTNode] = []
        self.body: list[libcst.SimpleStatementLine | libcst.BaseCompoundStatement] = []
        self.header = before.tree.header

    def read(self) -> tuple[libcst.Module, Places] | None:
        """The tree and its places; None where only the whole text can be read."""
        if not self.old.statements or self.tree.footer:
            return None
        if parsable(self.before.text) != self.before.text:
            return None
        parts = list(self.parts())
        stayed = [part for part in parts if isinstance(part, Stayed)]
        if not stayed or (not stayed[0].start and stayed[0].first):
            # Comments above another statement than before are the module's now.
            return None
        for part in parts:
            if isinstance(part, Stayed):
                self.keep(part)
            elif not self.parse(part):
                return None
        return self.whole(parts)

    def parts(self) -> Iterator[Stayed | Changed]:
        """What stayed and what changed, in the order of the text."""
        position = number = 0
        while number < self.count:
            first, start = number, position
            while number < self.count and self.text.startswith(self.piece(number), position):
                position += len(self.piece(number))
                number += 1
            if number > first:
                yield Stayed(first, number, start)
                continue
            found = self.found_again(number, position)
            if found is None:
                break
            number, start = found
            if start > position:
                yield Changed(position, start)
            position = start
        if position < len(self.text):
            yield Changed(position, len(self.text))

    @property
    def count(self) -> int:
        """How many statements there were."""
        return len(self.old.statements) - 1

    def offset(self, number: int) -> int:
        """Where the text of a statement began, comments above it included."""
        return self.old.starts[self.old.statements[number][0]] if number else 0

    def piece(self, number: int) -> str:
        """The text of a statement as it was, comments above it included."""
        return self.before.text[self.offset(number) : self.offset(number + 1)]

    def found_again(self, missing: int, position: int) -> tuple[int, int] | None:
        """The next statement that is still there, and where; None where there is none."""
        for number in range(missing + 1, self.count):
            start = self.text.find(self.piece(number), position)
            if start >= 0 and (not start or self.text[start - 1] == "\n"):
                last = self.text[position:start].rstrip("\r\n").rpartition("\n")[2].strip()
                # Blank lines and comments at its end would belong to what follows.
                ends = self.text[position:start].endswith(("\n\n", "\n\r\n"))
                if start == position or not (ends or last[:1] in ("", "#") or last[-1] == "\\"):
                    return number, start
        return None

    def keep(self, part: Stayed) -> None:
        """Take over statements with their places, as far as they have moved."""
        first, first_node = self.old.statements[part.first] if part.first else (0, 1)
        end, end_node = self.old.statements[part.end]
        moved = part.start - self.offset(part.first)
        for places, old, shift in (
            (self.starts, self.old.starts, 0),
            (self.ends, self.old.ends, 1),
        ):
            known = old[first + shift : end + shift]
            places[first + shift : end + shift] = [place + moved for place in known]
        if not self.starts[end]:
            self.starts[end] = self.ends[end]
        self.nodes.extend(self.old.nodes[first_node:end_node])
        self.body.extend(self.tree.body[part.first : part.end])

    def parse(self, part: Changed) -> bool:
        """Parse a part on its own; whether that could be done."""
        text = self.text[part.start : part.end]
        before = ""
        if part.start:
            # Otherwise the first comments would be those of a module.
            before = f"pass{self.tree.default_newline}"
            if next(filter(str.strip, text.splitlines()), " ")[0].isspace():
                return False
        inner = libcst.parse_module(before + text)
        written = list(inner.body[1:] if before else inner.body)
        if inner.footer or not written:
            return False
        state = self.state
        tokens, nodes = len(state.tokens), len(state.nodes)
        if not before:
            self.header = inner.header
            for line in inner.header:
                line._codegen(state)
        for statement in written:
            statement._codegen(state)
        if "".join(state.tokens[tokens:]) != text:
            return False
        offsets = list(accumulate(map(len, state.tokens[tokens:]), initial=part.start))
        self.starts += offsets
        self.ends += offsets
        # The end of one part and the beginning of the next have numbers of their own.
        state.tokens.append("")
        self.nodes.extend(state.nodes[nodes:])
        self.body.extend(written)
        return True

    def whole(self, parts: list[Stayed | Changed]) -> tuple[libcst.Module, Places]:
        """The tree of all parts, and its places."""
        tree = self.tree.with_changes(header=self.header, body=self.body)
        around = dict(self.old.around)
        left = 0
        for part in (*parts, Stayed(self.count, self.count, 0)):
            if isinstance(part, Stayed):
                first = self.old.statements[left][1] if left else 1
                end = self.old.statements[part.first][1] if part.first else 1
                for node in self.old.nodes[first:end]:
                    del around[id(node)]
                left = part.end
        del around[id(self.tree)]
        around.update(self.state.around)
        for node in (*tree.header, *tree.body):
            around[id(node)] = tree
        around[id(tree)] = None
        self.nodes.insert(0, tree)
        self.ends.append(len(self.text))
        self.starts.append(len(self.text))
        begins = {**self.old.first, **self.state.first, id(tree): 0}
        finishes = {**self.old.last, **self.state.last, id(tree): len(self.ends) - 1}
        return tree, Places(self.nodes, begins, finishes, self.starts, self.ends, around)
