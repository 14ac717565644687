"""How often something inside loops happens."""

from __future__ import annotations

import libcst as cst

from transpile.arithmetic.branches import happens, taken
from transpile.arithmetic.formula import (
    add,
    multiply,
    name,
    number,
    text,
)
from transpile.arithmetic.loops import Times, frames_of_function, is_one_arm, rounds
from transpile.arithmetic.reading import Reader
from transpile.arithmetic.windows import Window, window_of
from transpile.facts.events import Branch, Call, Event, Loop
from transpile.facts.module import Module
from transpile.facts.values import External, Opaque, Values


def steps_in(
    reader: Reader, events: list[Event], batch_loops: dict[int, Values | None]
) -> tuple[Times | None, Times] | None:
    """How often one of some calls happens in a pass over the batches, and altogether.

    The first is None where the calls are in no loop over batches.

    Args:
        reader: reads the numbers.
        events: the calls, such as all steps of an optimizer.
        batch_loops: the loops over batches, with what each iterates over.
    """
    groups: dict[tuple[int, ...], list[Event]] = {}
    for event in events:
        if not event.detached:
            key = tuple(id(f.node) for f in event.stack if isinstance(f, (Loop, Call)))
            groups.setdefault(key, []).append(event)
    sums: list[tuple[Times | None, Times]] = []
    for group in groups.values():
        found = [times_of(reader, event, batch_loops) for event in group]
        if len(group) > 1 and on_different_arms(group):
            found = found[:1]
        sums.extend(found)
    if not sums:
        return None
    first = sums[0]
    for other in sums[1:]:
        within = both(first[0], other[0]) if first[0] is not None and other[0] is not None else None
        first = (within, both(first[1], other[1]))
    return first


def both(left: Times, right: Times) -> Times:
    """What happens on two ways, one after the other."""
    gathered = left.gathered if left.gathered == right.gathered else None
    because = tuple(dict.fromkeys((*left.because, *right.because)))
    return Times(add(left.count, right.count), left.at_most or right.at_most, because, gathered)


def on_different_arms(events: list[Event]) -> bool:
    """Whether only one of some calls happens: they are on different arms of one branch."""
    arms: dict[int, set[str]] = {}
    for event in events:
        for frame in event.stack:
            if isinstance(frame, Branch):
                arms.setdefault(id(frame.node), set()).add(frame.arm)
    return any(len(found) >= len(events) for found in arms.values())


def times_of(
    reader: Reader, event: Event, batch_loops: dict[int, Values | None]
) -> tuple[Times | None, Times]:
    """How often one call happens in a pass over the batches, and altogether."""
    within, around = number(1), number(1)
    at_most = False
    because: list[str] = []
    counting: Window | None = None
    batch_loop: Loop | None = None
    for frame in event.stack:
        if isinstance(frame, Loop):
            if is_one_arm(frame, event.stack, reader):
                continue
            found = rounds(reader, frame, batch_loops.get(id(frame.node)))
            at_most |= found.at_most
            because.extend(found.because)
            if id(frame.node) in batch_loops:
                batch_loop = frame
            if batch_loop is not None:
                within = multiply(within, found.count)
            else:
                around = multiply(around, found.count)
        elif batch_loop is not None and isinstance(frame, Branch):
            window = window_of(reader, frame, batch_loop)
            if window is not None and counting is None:
                counting = window
            elif undecided(reader, frame, event):
                at_most = True
                because.append(condition(frame, batch_loop.module))
    if batch_loop is not None and skips(reader, event, batch_loop):
        at_most = True
        because.append("'continue' passes over steps in some rounds")
    every, gathered = multiply(around, within), None
    if counting is not None:
        gathered = counting.length
        if counting.per_pass:
            within = counting.steps(within)
            every = multiply(around, within)
        else:
            every = counting.steps(every)
            within = name(f"{text(every)} / epochs", "the window runs on from epoch to epoch")
    kept = tuple(dict.fromkeys(because))
    inside = Times(within, at_most, kept, gathered) if batch_loop is not None else None
    return inside, Times(every, at_most, kept, gathered)


def undecided(reader: Reader, frame: Branch, event: Event) -> bool:
    """Whether a branch may be passed by: its other arm does not do the same."""
    if taken(reader, frame) is True:
        return False
    if not isinstance(frame.node, cst.If):
        return isinstance(frame.node, cst.IfExp)
    return not any(
        other.node is not event.node
        and called(other) == called(event)
        and any(
            isinstance(each, Branch) and each.node is frame.node and each.arm != frame.arm
            for each in other.stack
        )
        for other in reader.plan.facts.calls
    )


def called(event: Event) -> str:
    """The last word of what a call calls."""
    for callee in event.callee:
        if isinstance(callee, (Opaque, External)):
            return callee.name.rpartition(".")[2]
    return ""


def condition(frame: Branch, module: Module) -> str:
    """What a step depends on, in words."""
    if isinstance(frame.node, cst.If):
        try:
            words = " ".join(module.source.code(frame.node.test).split())
        except KeyError:
            words = "a condition"
        return f"a step depends on 'if {words}'"
    return "a step depends on a condition"


def skips(reader: Reader, event: Event, loop: Loop) -> bool:
    """Whether a round of a loop may end before it comes to a call."""
    return any(
        other.kind == "exit"
        and other.name == "continue"
        and happens(reader, other.stack)
        and other.order < event.order
        and [f.node for f in frames_of_function(other.stack) if isinstance(f, Loop)][-1:]
        == [loop.node]
        for other in reader.plan.facts.events
    )
