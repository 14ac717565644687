"""Changes of a comma-separated list, worked out together: one comma depends on all of them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from transpile.text.changes import (
    ChangeList,
    CommaList,
    Edit,
    EditConflict,
    Insert,
    Replace,
    TextEdit,
    wrap,
)
from transpile.text.span import Span

_COMMA = re.compile(r"(?:[ \t\f\r\n\\]|\#[^\n]*\n)*,")
_REST_OF_LINE = re.compile(r"[ \t]*,?[ \t]*(?:\#[^\r\n]*)?(?=\r?\n)")
_NAME = re.compile(r"\w+(?=[ \t]*=)")


def lower_lists(text: str, edits: Iterable[Edit]) -> list[TextEdit]:
    """Turn the changes of lists among the edits into edits of text.

    Raises:
        EditConflict: two changes give one keyword different values.
    """
    result: list[TextEdit] = []
    changes: dict[CommaList, list[ChangeList]] = {}
    for edit in edits:
        if isinstance(edit, ChangeList):
            changes.setdefault(edit.target, []).append(edit)
        else:
            result.append(edit)
    for target, wanted in changes.items():
        removed = {index for change in wanted for index in change.removed}
        result += _ListWriter(text, target, removed).edits(_additions(wanted))
    return result


def _additions(changes: list[ChangeList]) -> list[str]:
    """The items that all changes add, in order, each once."""
    owners: dict[str, tuple[str, ChangeList]] = {}
    items: list[str] = []
    for change in sorted(changes, key=lambda change: (change.order, change.added)):
        for item in change.added:
            name = _NAME.match(item)
            key = name.group() if name else item
            known, owner = owners.setdefault(key, (item, change))
            if known != item:
                raise EditConflict(owner, change, "one argument is given two values")
            if owner is change and item not in items:
                items.append(item)
    return items


class _ListWriter:
    """Writes the edits of one list."""

    def __init__(self, text: str, target: CommaList, removed: set[int]) -> None:
        self.text = text
        self.target = target
        self.items = target.items
        self.removed = removed
        self.kept = [index for index in range(len(self.items)) if index not in removed]

    def edits(self, added: list[str]) -> list[TextEdit]:
        """The edits that remove the removed items and add the given ones."""
        if not self.kept:
            return self._rewritten(added)
        return [*self._removals(), *(self._additions(added) if added else [])]

    def _rewritten(self, added: list[str]) -> list[TextEdit]:
        """The edits of a list of which nothing stays, or which was empty."""
        target = self.target
        inside = self.text[target.opening : target.closing]
        if not self.items:
            if not added:
                return []
            if inside and "#" not in inside:
                return [Replace(Span(target.opening, target.closing), ", ".join(added))]
            return [Insert(target.closing, ", ".join(added))]
        first, last = self.items[0], self.items[-1]
        if not added and "#" not in inside:
            return [Replace(Span(target.opening, target.closing), "")]
        comma = self._comma_after(last.end)
        separator = ", "
        if self._begins_line(first.start):
            separator = "," + target.newline + self._indentation(first.start)
        end = last.end if comma is None or added else comma
        return [Replace(Span(first.start, end), separator.join(added))]

    def _removals(self) -> list[Replace]:
        result: list[Replace] = []
        for first, last in self._runs():
            if all(self._alone(index) for index in range(first, last + 1)):
                for index in range(first, last + 1):
                    result.append(Replace(self._lines(index), ""))
                continue
            start, end = self.items[first].start, self.items[last].end
            if first > 0 and "#" not in self.text[self.items[first - 1].end : end]:
                start = self.items[first - 1].end
            elif first == 0 and "#" not in self.text[start : self.items[last + 1].start]:
                end = self.items[last + 1].start
            else:
                end = self._comma_after(end) or end
            result.append(Replace(Span(start, end), ""))
        return result

    def _additions(self, added: list[str]) -> list[TextEdit]:
        target, text = self.target, self.text
        result: list[TextEdit] = []
        if target.bare_generator:
            for half in wrap(self.items[0], "(", ")", order=-1000):
                assert isinstance(half, Insert)
                result.append(half)
        tail = len(self.items) - target.last
        following = [index for index in self.kept if index >= tail]
        leading = [index for index in self.kept if index < tail]
        if following:
            anchor = self.items[following[0]]
            if self._begins_line(anchor.start):
                offset = self._line_start(anchor.start)
                lines = self._as_lines(added, anchor.start, last_comma=True)
                result.append(Insert(offset, lines, 0, "before", anchor))
            else:
                joined = "".join(item + ", " for item in added)
                result.append(Insert(anchor.start, joined, 0, "before", anchor))
            return result
        anchor = self.items[leading[-1]]
        one_per_line = len(self.items) > 1 or self._begins_line(anchor.start)
        one_per_line = one_per_line and all(
            self._begins_line(item.start) for item in self.items[1:]
        )
        if not one_per_line:
            joined = "".join(", " + item for item in added)
            result.append(Insert(anchor.end, joined, 0, "after", anchor))
            return result
        place = self.items[1].start if len(self.items) > 1 else anchor.start
        cut_behind = any(edit.span.start == anchor.end for edit in self._removals())
        if cut_behind or _REST_OF_LINE.match(text, anchor.end) is None:
            separator = "," + target.newline + self._indentation(place)
            joined = "".join(separator + item for item in added)
            result.append(Insert(anchor.end, joined, 0, "after", anchor))
            return result
        has_comma = self._comma_after(anchor.end) is not None
        if not has_comma:
            result.append(Insert(anchor.end, ",", 0, "after", anchor))
        lines = self._as_lines(added, place, last_comma=has_comma)
        result.append(Insert(self._next_line(anchor.end), lines, 0, "after", anchor))
        return result

    def _as_lines(self, added: list[str], place: int, last_comma: bool) -> str:
        indentation, newline = self._indentation(place), self.target.newline
        lines = ("," + newline).join(indentation + item for item in added)
        return lines + ("," if last_comma else "") + newline

    def _runs(self) -> list[tuple[int, int]]:
        """First and last index of each unbroken run of removed items."""
        runs: list[tuple[int, int]] = []
        for index in sorted(self.removed):
            if runs and runs[-1][1] == index - 1:
                runs[-1] = (runs[-1][0], index)
            else:
                runs.append((index, index))
        return runs

    def _alone(self, index: int) -> bool:
        """Whether an item shares its lines with nothing but its comma and a comment."""
        item = self.items[index]
        rest = _REST_OF_LINE.match(self.text, item.end)
        if rest is None or not self._begins_line(item.start):
            return False
        comma = self._comma_after(item.end)
        return comma is None or comma <= rest.end()

    def _lines(self, index: int) -> Span:
        item = self.items[index]
        return Span(self._line_start(item.start), self._next_line(item.end))

    def _comma_after(self, offset: int) -> int | None:
        """Offset after the comma that follows; None where there is none."""
        comma = _COMMA.match(self.text, offset, self.target.closing)
        return comma.end() if comma else None

    def _line_start(self, offset: int) -> int:
        return self.text.rfind("\n", 0, offset) + 1

    def _next_line(self, offset: int) -> int:
        return self.text.index("\n", offset) + 1

    def _begins_line(self, offset: int) -> bool:
        return not self.text[self._line_start(offset) : offset].strip()

    def _indentation(self, offset: int) -> str:
        """The whitespace in front of an item that begins its line."""
        return self.text[self._line_start(offset) : offset]
