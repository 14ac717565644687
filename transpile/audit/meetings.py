"""Where processes wait for each other, and where not all of them come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import libcst as cst

from transpile.audit.model import Audit, Process
from transpile.facts.events import Branch, Call, Event, Loop
from transpile.facts.module import Module
from transpile.facts.state import truth
from transpile.plan.flow.places import ancestors, function_of, start
from transpile.records import dataclass, replace

Path = tuple[tuple[str, str], ...]


@dataclass(frozen=True, eq=False)
class Meeting:
    """Something that all processes must do together.

    Args:
        event: what happens, in one process.
        word: how to call it.
        kind: which check it belongs to.
        key: equal for two places that may stand for each other.
    """

    event: Event
    word: str
    kind: str
    key: tuple[object, ...]

    def path(self, process: Process) -> Path:
        """The loops and the open conditions around it, for the process that it is one of."""
        found = []
        for frame in self.event.stack:
            if isinstance(frame, Loop):
                found.append(("loop", headline(self.event, frame.node, process)))
            elif isinstance(frame, Branch):
                found.append((frame.arm, headline(self.event, frame.node, process)))
        return tuple(found)


@dataclass(frozen=True, eq=False)
class Alone:
    """A meeting that some processes come to and others do not.

    Args:
        meeting: the meeting.
        comes: a process that comes.
        misses: one that does not.
        crossed: it comes, too, but at another time.
    """

    meeting: Meeting
    comes: Process
    misses: Process
    crossed: bool = False


def headline(event: Event, node: cst.CSTNode, process: Process) -> str:
    """The open part of the condition of a branch, or what a loop goes over, as it is written."""
    shown: cst.CSTNode | None = None
    if isinstance(node, (cst.If, cst.IfExp, cst.While)):
        shown = open_part(node.test, process)
    elif isinstance(node, cst.For):
        shown = node.iter
    elif isinstance(node, cst.BooleanOperation):
        shown = node.left
    if shown is None:
        return str(id(node))
    return event.module.source.tree.code_for_node(shown)


def open_part(test: cst.BaseExpression, process: Process) -> cst.BaseExpression:
    """What of a condition a process leaves open: of ``leads and jobs > 1``, where it leads."""
    if not isinstance(test, cst.BooleanOperation):
        return test
    decides = isinstance(test.operator, cst.Or)
    answers = [truth(process.facts.values_of(side)) for side in (test.left, test.right)]
    if answers[0] is (not decides):
        return open_part(test.right, process)
    return open_part(test.left, process) if answers[1] is (not decides) else test


def missed(first: Process, second: Process, meetings: dict[int, list[Meeting]]) -> Iterator[Alone]:
    """The meetings that only one of two processes comes to, each place once.

    Args:
        first: a process.
        second: another one.
        meetings: those of each, by the identity of the process.
    """
    ours, theirs = (by_path(meetings[id(one)], one) for one in (first, second))
    counts = {
        id(process): Counter(id(m.event.node) for m in meetings[id(process)])
        for process in (first, second)
    }
    seen: set[int] = set()
    for path in dict.fromkeys([*ours, *theirs]):
        here = {id(first): ours.get(path, []), id(second): theirs.get(path, [])}
        for alone in unmatched(first, second, here[id(first)], here[id(second)]):
            for other in (alone.meeting, *here[id(alone.comes)]):
                # Of several that may stand for each other, it is the one that others do not meet.
                node = other.event.node
                same = counts[id(first)][id(node)] == counts[id(second)][id(node)]
                if other.key == alone.meeting.key and (alone.crossed or not same):
                    if id(node) not in seen:
                        seen.add(id(node))
                        yield replace(alone, meeting=other)
                    break


def by_path(meetings: Iterable[Meeting], process: Process) -> dict[Path, list[Meeting]]:
    """The meetings of a process in order, apart by what is around them."""
    found: dict[Path, list[Meeting]] = {}
    for meeting in meetings:
        found.setdefault(meeting.path(process), []).append(meeting)
    return found


def unmatched(
    first: Process, second: Process, ours: Sequence[Meeting], theirs: Sequence[Meeting]
) -> Iterator[Alone]:
    """What of two sequences of meetings has no counterpart in the other."""
    keys, others = [m.key for m in ours], [m.key for m in theirs]
    if keys == others:
        return
    if Counter(keys) == Counter(others):
        place = next(i for i, (a, b) in enumerate(zip(keys, others, strict=True)) if a != b)
        yield Alone(ours[place], first, second, crossed=True)
        return
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(None, keys, others, autojunk=False)
    for tag, begin, end, other_begin, other_end in matcher.get_opcodes():
        if tag != "equal":
            yield from (Alone(meeting, first, second) for meeting in ours[begin:end])
            yield from (Alone(meeting, second, first) for meeting in theirs[other_begin:other_end])


def parting(audit: Audit, alone: Alone) -> tuple[Module, cst.CSTNode] | None:
    """The condition at which the process that misses a meeting takes another way."""
    event = alone.meeting.event
    around = around_of(event)
    for module, node in around:
        for outer in module.source.parents(node):
            if isinstance(outer, (cst.If, cst.IfExp, cst.While)) and audit.tells_apart(outer.test):
                return module, outer.test
            if isinstance(outer, cst.BooleanOperation) and audit.tells_apart(outer.left):
                return module, outer.left
            if isinstance(outer, (cst.FunctionDef, cst.Lambda)):
                break
    nodes = {id(e.node) for e in alone.comes.facts.exits}
    exits = [e for e in alone.misses.facts.exits if id(e.node) not in nodes]
    for module, node in around:
        for other in reversed(exits):
            if other.module is module and leaves_before(module, other.node, node):
                for outer in module.source.parents(other.node):
                    if isinstance(outer, cst.If) and audit.tells_apart(outer.test):
                        return module, outer.test
    return None


def leaves_before(module: Module, leaving: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether a ``return``, ``break`` or ``continue`` keeps a place behind it from being reached.

    A place in the same loop comes behind a ``break`` in the next round, too.
    """
    if function_of(module, leaving) is not function_of(module, node):
        return False
    if isinstance(leaving, (cst.Return, cst.Raise)):
        return start(module, leaving) < start(module, node)
    loop = next(
        (outer for outer in ancestors(module, leaving) if isinstance(outer, (cst.For, cst.While))),
        None,
    )
    inside = any(outer is loop for outer in ancestors(module, node))
    behind = start(module, leaving) < start(module, node)
    return inside and (behind or isinstance(leaving, cst.Break))


def skipped(first: Process, second: Process, meetings: dict[int, list[Meeting]]) -> Iterator[Alone]:
    """The meetings that one of two processes may leave out, where the other never does.

    ``if rank and step == 2: continue`` is decided for rank 0 alone.
    """
    exits = {id(e.node) for e in first.facts.exits}
    own = [e for e in second.facts.exits if e.name != "raise" and id(e.node) not in exits]
    for meeting in meetings[id(second)]:
        for module, node in around_of(meeting.event):
            if any(e.module is module and leaves_before(module, e.node, node) for e in own):
                yield Alone(meeting, first, second)
                break


def around_of(event: Event) -> list[tuple[Module, cst.CSTNode]]:
    """The places in the text that lead to an event, the innermost first."""
    found: list[tuple[Module, cst.CSTNode]] = [(event.module, event.node)]
    for frame in reversed(event.stack):
        if isinstance(frame, Call) and frame.node is not None:
            found.append((frame.module, frame.node))
    return found
