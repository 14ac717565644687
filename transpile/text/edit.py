"""Text edits: what may be asked for, and applying all of it at once.

Edits are disjoint or properly nested and are applied inside out; a partial overlap is an error.
Identical edits count once, so that two rules may ask for the same import.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Literal

from transpile.records import dataclass, field
from transpile.text.changes import (
    ChangeList,
    CommaList,
    Edit,
    EditConflict,
    Indent,
    Insert,
    Move,
    Replace,
    TextEdit,
    wrap,
)
from transpile.text.comma_list import lower_lists
from transpile.text.edit_nesting import check_nesting, nesting_key
from transpile.text.span import Span

__all__ = [
    "ChangeList",
    "CommaList",
    "Edit",
    "EditConflict",
    "Indent",
    "Insert",
    "Move",
    "Replace",
    "apply_edits",
    "apply_with_inverse",
    "wrap",
]


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Return `text` with all edits applied.

    Args:
        text: the text that the offsets of the edits refer to.
        edits: in any order.

    Raises:
        EditConflict: two edits overlap without one holding the other.
    """
    return "".join(chunk.text for chunk in _render(text, edits) if chunk.kind != "drop")


def apply_with_inverse(text: str, edits: Iterable[Edit]) -> tuple[str, tuple[Edit, ...]]:
    """Return `text` with all edits applied, and the edits that undo them.

    Applying the second to the first gives `text` back, character for character.

    Args:
        text: the text that the offsets of the edits refer to.
        edits: in any order.

    Raises:
        EditConflict: two edits overlap without one holding the other.
    """
    pieces: list[str] = []
    inverse: list[Edit] = []
    offset = 0
    added: list[str] = []
    dropped: list[str] = []

    def close_run() -> None:
        nonlocal offset
        new, old = "".join(added), "".join(dropped)
        added.clear()
        dropped.clear()
        if new != old:
            span = Span(offset, offset + len(new))
            inverse.append(Replace(span, old) if new else Insert(offset, old))
        pieces.append(new)
        offset += len(new)

    for chunk in _render(text, edits):
        if chunk.kind == "keep":
            if chunk.text:
                close_run()
                pieces.append(chunk.text)
                offset += len(chunk.text)
        else:
            (added if chunk.kind == "add" else dropped).append(chunk.text)
    close_run()
    return "".join(pieces), tuple(inverse)


@dataclass(frozen=True)
class _Chunk:
    """A piece of the result, or of the original that is not in it.

    Args:
        kind: from the original, new, or left out.
        text: the characters.
        protected: whether a line that begins right after one of its newlines keeps its indentation.
    """

    kind: Literal["keep", "add", "drop"]
    text: str
    protected: bool = False


@dataclass
class _Region:
    """A span whose rendering an `Indent` or a `Move` takes up; the root holds the whole text."""

    span: Span
    owner: Indent | Move | None
    regions: list[_Region] = field(default_factory=list)
    leaves: list[Replace | Insert] = field(default_factory=list)


def _render(text: str, edits: Iterable[Edit]) -> list[_Chunk]:
    return _Renderer(text, lower_lists(text, dict.fromkeys(edits))).render()


class _Renderer:
    """Applies one set of edits to one text."""

    def __init__(self, text: str, edits: list[TextEdit]) -> None:
        self.text = text
        self.edits = list(dict.fromkeys(edits))
        whole = Span(0, len(text))
        for edit in self.edits:
            places = [edit.span] if not isinstance(edit, Insert) else [edit.anchor or whole]
            if isinstance(edit, Insert | Move):
                places.append(Span(edit.offset, edit.offset))
            if not all(whole.contains(place) for place in places):
                raise EditConflict(edit, whole, "an edit reaches beyond the text")
        check_nesting(self.edits)
        self.root = self._region_tree(whole)
        self.moved = {id(region.owner): region for region in _all_regions(self.root)}
        self.protected = _merged(
            span for edit in self.edits if isinstance(edit, Indent) for span in edit.protected
        )
        self.arrived: set[int] = set()

    def render(self) -> list[_Chunk]:
        chunks = self._render_region(self.root)
        for region in _all_regions(self.root):
            if isinstance(region.owner, Move) and id(region.owner) not in self.arrived:
                raise EditConflict(region.owner, self.root.span, "text that moves into itself")
        return chunks

    def _region_tree(self, whole: Span) -> _Region:
        root = _Region(whole, None)
        owners = [edit for edit in self.edits if isinstance(edit, Indent | Move)]
        stack = [root]
        for owner in sorted(owners, key=nesting_key):
            while not stack[-1].span.contains(owner.span):
                stack.pop()
            region = _Region(owner.span, owner)
            stack[-1].regions.append(region)
            stack.append(region)
        for edit in self.edits:
            if isinstance(edit, Replace | Insert):
                _innermost(root, edit).leaves.append(edit)
        return root

    def _render_region(self, region: _Region) -> list[_Chunk]:
        """Render what is inside a region, inner regions first."""
        chunks: list[_Chunk] = []
        position = region.span.start
        for item in self._items(region):
            chunks += self._kept(position, item.start)
            position = item.start
            if isinstance(item.what, Insert):
                chunks.append(_Chunk("add", item.what.text))
            elif isinstance(item.what, Replace):
                chunks.append(_Chunk("drop", self.text[item.start : item.what.span.end]))
                chunks.append(_Chunk("add", item.what.text))
                position = item.what.span.end
            elif isinstance(item.what, Move):
                chunks += self._moved(item.what)
            else:
                chunks += self._child(item.what)
                position = item.what.span.end
        return chunks + self._kept(position, region.span.end)

    def _items(self, region: _Region) -> list[_Item]:
        """What happens inside a region, in the order of the result."""
        items = [_Item(child.span.start, (4,), child) for child in region.regions]
        for leaf in region.leaves:
            if isinstance(leaf, Replace):
                items.append(_Item(leaf.span.start, (4,), leaf))
            else:
                items.append(_Item(leaf.offset, _insertion_key(leaf), leaf))
        for edit in self.edits:
            if isinstance(edit, Move) and _innermost_at(self.root, edit.offset) is region:
                key = (2, 0, edit.order, "", edit.span.start, edit.span.end)
                items.append(_Item(edit.offset, key, edit))
        return sorted(items, key=lambda item: (item.start, item.key))

    def _child(self, region: _Region) -> list[_Chunk]:
        """The chunks that a region leaves where it stands."""
        if isinstance(region.owner, Indent):
            opening = _Chunk("add", region.owner.opening)
            return [opening, *_indented(self._render_region(region), region.owner)]
        return [_Chunk("drop", self.text[region.span.start : region.span.end])]

    def _moved(self, move: Move) -> list[_Chunk]:
        self.arrived.add(id(move))
        inside = self._render_region(self.moved[id(move)])
        return [
            _Chunk("add", chunk.text, chunk.protected) for chunk in inside if chunk.kind != "drop"
        ]

    def _kept(self, start: int, end: int) -> list[_Chunk]:
        """The original text of a range, cut where protected spans begin and end."""
        chunks: list[_Chunk] = []
        position = start
        for span in self.protected[max(0, bisect_left(self.protected, Span(start, start)) - 1) :]:
            if span.start >= end:
                break
            inner_start, inner_end = max(span.start, position), min(span.end, end)
            if inner_start < inner_end:
                chunks.append(_Chunk("keep", self.text[position:inner_start]))
                chunks.append(_Chunk("keep", self.text[inner_start:inner_end], protected=True))
                position = inner_end
        chunks.append(_Chunk("keep", self.text[position:end]))
        return [chunk for chunk in chunks if chunk.text]


@dataclass(frozen=True)
class _Item:
    start: int
    key: tuple[int | str, ...]
    what: Insert | Replace | Move | _Region


def _merged(spans: Iterable[Span]) -> list[Span]:
    """The spans in order, those inside others left out."""
    result: list[Span] = []
    for span in sorted(set(spans), key=lambda span: (span.start, -span.end)):
        if not result or span.start >= result[-1].end:
            result.append(span)
    return result


def _insertion_key(insert: Insert) -> tuple[int | str, ...]:
    """Rank among insertions at one offset; see `Insert`."""
    if insert.anchor is None:
        return (2, 0, insert.order, insert.text)
    extent = insert.anchor.end - insert.anchor.start
    if insert.side == "close":
        # The other way round than openers, of which the first stands outside; without one, inside.
        opened = (*(-ord(letter) for letter in insert.opener), 1)
        return (1, extent, 0, -insert.order, len(insert.opener) > 0, *opened)
    if insert.side == "after":
        return (1, extent, 1, insert.order, insert.text)
    return (3, -extent, 0 if insert.side == "before" else 1, insert.order, insert.text)


def _innermost(root: _Region, edit: Replace | Insert) -> _Region:
    """The smallest region that an edit belongs to.

    What stands before or after its anchor stays outside of regions that begin or end there.
    """
    if isinstance(edit, Replace):
        span = edit.span
    elif edit.side in ("open", "close"):
        assert edit.anchor is not None
        span = edit.anchor
    else:
        return _innermost_at(root, edit.offset, edit)
    region = root
    while True:
        inner = next((child for child in region.regions if child.span.contains(span)), None)
        if inner is None:
            return region
        region = inner


def _innermost_at(root: _Region, offset: int, insert: Insert | None = None) -> _Region:
    """The smallest region that an insertion at an offset falls into."""
    region = root
    while True:
        inner = next(
            (child for child in region.regions if _falls_into(child, offset, insert)), None
        )
        if inner is None:
            return region
        region = inner


def _falls_into(region: _Region, offset: int, insert: Insert | None) -> bool:
    """Whether an insertion lies inside a region, not merely at one of its ends.

    Lines behind the last statement of an inner block stand at the end of the blocks around it too.
    """
    if region.span.start < offset < region.span.end:
        return True
    return (
        offset == region.span.end
        and isinstance(region.owner, Indent)
        and region.owner.last is not None
        and insert is not None
        and insert.anchor is not None
        and insert.side == "after"
        and region.owner.last < insert.anchor.start < offset
    )


def _all_regions(region: _Region) -> Iterator[_Region]:
    yield region
    for child in region.regions:
        yield from _all_regions(child)


def _indented(chunks: list[_Chunk], indent: Indent) -> list[_Chunk]:
    """Indent every line that begins inside the chunks, except blank and protected ones."""
    result: list[_Chunk] = []
    start_of_line: list[_Chunk] = []
    begins = False
    for chunk in chunks:
        if chunk.kind == "drop":
            (start_of_line if begins else result).append(chunk)
            continue
        for line in _lines(chunk):
            part = _Chunk(chunk.kind, line, chunk.protected)
            if begins:
                start_of_line.append(part)
                if line.strip():
                    result += _padded(start_of_line, indent)
                    start_of_line = []
                    begins = False
            else:
                result.append(part)
            if line.endswith("\n"):
                result += start_of_line
                start_of_line = []
                begins = not chunk.protected
    return result + start_of_line


def _lines(chunk: _Chunk) -> list[str]:
    """The lines of a chunk with their line feeds; nothing else ends a line."""
    lines = [line + "\n" for line in chunk.text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return [line for line in lines if line]


def _padded(line: list[_Chunk], indent: Indent) -> list[_Chunk]:
    """Put one level of indentation into the start of a line, after the block's own."""
    text = "".join(chunk.text for chunk in line if chunk.kind != "drop")
    position = len(indent.base) if text.startswith(indent.base) else 0
    result: list[_Chunk] = []
    pad: list[_Chunk] = [_Chunk("add", indent.indent)]
    for chunk in line:
        if chunk.kind == "drop" or not pad:
            result.append(chunk)
        elif len(chunk.text) <= position:
            result.append(chunk)
            position -= len(chunk.text)
        else:
            head = _Chunk(chunk.kind, chunk.text[:position], chunk.protected)
            tail = _Chunk(chunk.kind, chunk.text[position:], chunk.protected)
            result += [head, pad.pop(), tail]
    return [chunk for chunk in result + pad if chunk.text]
