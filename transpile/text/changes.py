"""The kinds of changes that can be asked of a text; all offsets are those of the original."""

from __future__ import annotations

from typing import Literal, TypeAlias

from transpile.records import dataclass
from transpile.text.span import Span

Side: TypeAlias = Literal["plain", "before", "after", "open", "close"]


class EditConflict(Exception):
    """Two edits that cannot both be applied: an error of the caller, never of the user's text."""

    def __init__(self, first: object, second: object, why: str) -> None:
        super().__init__(f"{why}: {first} and {second}")
        self.first = first
        self.second = second


@dataclass(frozen=True)
class Replace:
    """Put `text` in the place of a span that is not empty.

    No other edit may reach into the span; wrapping exactly the span is allowed.
    """

    span: Span
    text: str

    def __post_init__(self) -> None:
        if self.span.start == self.span.end:
            raise ValueError("an empty span cannot be replaced: use Insert")


@dataclass(frozen=True)
class Insert:
    """Put `text` at an offset.

    What several insertions at one offset mean is settled by what each belongs to, its `anchor`:
    closers and texts after something come first, inner anchors before outer ones; then plain
    texts; then texts before something and openers, outer anchors before inner ones.

    Args:
        offset: where.
        text: what.
        order: rank among insertions that are otherwise equal; smaller stands further outside for
            openers and closers, and first for the others.
        side: ``open`` and ``close`` are the halves of a wrap, ``before`` and ``after`` stand
            outside their anchor and everything that wraps or guards it, ``plain`` has no anchor.
        anchor: the span that the insertion belongs to.
        opener: of a closer, what opens: two wraps of one span may be closed by the same text.
    """

    offset: int
    text: str
    order: int = 0
    side: Side = "plain"
    anchor: Span | None = None
    opener: str = ""

    def __post_init__(self) -> None:
        if (self.side == "plain") != (self.anchor is None):
            raise ValueError("every insertion but a plain one needs an anchor")


@dataclass(frozen=True)
class Indent:
    """Indent the lines that begin inside a span by one level.

    The span begins where the first statement begins, after its indentation, so that `opening`
    (the new header, a newline, and the first line's new indentation) fits there. Blank lines and
    lines that begin inside a protected span stay as they are.

    Args:
        span: from the first statement to the end of the last one, newline included.
        indent: one level of indentation.
        base: the block's own indentation; the new level is put after it.
        opening: text that goes in front, indented only by what encloses this edit.
        order: which of two edits with the same span stands outside: the smaller.
        protected: multi-line strings.
        last: where the last statement begins; what is put behind a part of it, at the very end of
            the span, belongs inside. None where nothing of the kind is to be expected.
    """

    span: Span
    indent: str
    base: str = ""
    opening: str = ""
    order: int = 0
    protected: tuple[Span, ...] = ()
    last: int | None = None


@dataclass(frozen=True)
class Move:
    """Put the text of a span, with the edits inside it, elsewhere.

    Args:
        span: what is moved; nothing may be left to anchor on, so not empty.
        offset: where to: outside the span, or right before it, behind what else is put there.
        order: rank among plain insertions at the offset.
    """

    span: Span
    offset: int
    order: int = 0

    def __post_init__(self) -> None:
        if self.span.start < self.offset <= self.span.end or self.span.start == self.span.end:
            raise ValueError("text cannot move to where it stands")


@dataclass(frozen=True)
class CommaList:
    """A bracketed list of items between commas, such as the arguments of a call.

    Args:
        opening: offset just after the opening bracket.
        closing: offset of the closing bracket.
        items: where the items stand, without their commas.
        last: how many items at the end stay last (``**options``).
        bare_generator: whether the only item is a generator expression without parentheses.
        newline: the newline to write.
    """

    opening: int
    closing: int
    items: tuple[Span, ...]
    last: int = 0
    bare_generator: bool = False
    newline: str = "\n"


@dataclass(frozen=True)
class ChangeList:
    """Add items to a list, or remove some; all changes of one list are carried out together.

    Args:
        target: the list; equal lists are one list.
        added: items to add at the end.
        removed: indices of the items to remove.
        order: rank of the added items among those that others add.
    """

    target: CommaList
    added: tuple[str, ...] = ()
    removed: tuple[int, ...] = ()
    order: int = 0


TextEdit: TypeAlias = Replace | Insert | Indent | Move
Edit: TypeAlias = Replace | Insert | Indent | Move | ChangeList


def wrap(span: Span, before: str, after: str, order: int = 0) -> tuple[Edit, Edit]:
    """Put text on both sides of a span.

    Args:
        span: what to wrap.
        before: the opener.
        after: the closer.
        order: which of two wraps of one span stands outside: the smaller.

    Raises:
        ValueError: the span is empty.
    """
    if span.start == span.end:
        raise ValueError("an empty span cannot be wrapped")
    return (
        Insert(span.start, before, order, "open", span),
        Insert(span.end, after, order, "close", span, before),
    )
