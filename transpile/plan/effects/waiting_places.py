"""Where every process waits for the one that writes, between a write and a read."""

from __future__ import annotations

from collections.abc import Set

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.plan.effects.treatment import Block, Once, statements_of
from transpile.plan.flow.places import (
    SMALL,
    Statement,
    blocks_around,
    calls_of,
    site_at,
    statement_in,
)


def place_of(once: Once, write: Event, read: Event) -> tuple[Module, cst.CSTNode] | None:
    """The statement to wait before: the one with the read, beside the one with the write."""
    depth = shared_calls(write, read)
    while depth >= 0:
        module = once.plan.entry if depth == 0 else calls_of(read.stack)[depth - 1].function.module
        writing, reading = site_at(write, depth), site_at(read, depth)
        if writing is not None and reading is not None:
            if writing is reading:
                return place_inside(once, write, read, depth)
            for block in blocks_around(module, reading):
                beside = statement_in(module, block, writing)
                if beside is not None:
                    statement = statement_in(module, block, reading)
                    # Two arms of one statement follow each other in a loop alone.
                    if beside is not statement or takes_turns(write, read, statement):
                        return (module, statement) if statement is not None else None
                    return place_inside(once, write, read, depth)
            return None
        depth -= 1
    return None


def takes_turns(write: Event, read: Event, statement: Statement | None) -> bool:
    """Whether a statement writes in one round of a loop and reads in another, or may."""
    if isinstance(statement, (cst.SimpleStatementLine, *SMALL)) and write.order < read.order:
        return False
    return share_loop(write, read)


def is_left_to_one_call(write: Event, read: Event) -> bool:
    """Whether one call in the text enters what writes and what reads: a registry's, say."""
    depth = shared_calls(write, read)
    if len(calls_of(write.stack)) <= depth or len(calls_of(read.stack)) <= depth:
        return False
    site = site_at(write, depth)
    return site is not None and site is site_at(read, depth)


def place_inside(
    once: Once, write: Event, read: Event, depth: int
) -> tuple[Module, cst.CSTNode] | None:
    """Where to wait if one statement writes and reads: in the function that reads or that writes.

    Only in a function that all processes call, and as often.
    """
    shared = {id(loop.node) for loop in write.loops()} & {id(loop.node) for loop in read.loops()}
    if read.order < write.order and not shared:
        return None
    guarded = {id(each) for run in once.runs for each in run.statements}
    for event, offset in ((read, 0), (write, 1)):
        calls = calls_of(event.stack)
        site = site_at(event, depth + 1) if len(calls) > depth else None
        if site is None or not called_by_all(once, event, shared):
            continue
        function = calls[depth].function
        if not isinstance(function.node, cst.FunctionDef) or function.is_generator:
            continue
        blocks = list(blocks_around(function.module, site))
        statement = statement_in(function.module, blocks[0], site) if blocks else None
        if statement is None:
            continue
        beside = blocks[0].body[blocks[0].body.index(statement) + offset :][:1]  # type: ignore[attr-defined]
        for found in beside:
            if not any(id(each) in guarded for each in statements_of(Block((found,)))):
                return function.module, found
    return None


def called_by_all(once: Once, event: Event, shared: Set[int]) -> bool:
    """Whether all processes come to a call, outside of other loops, wherever it is reached from.

    Args:
        once: what is decided about effects.
        event: the call.
        shared: the loops around both what writes and what reads.
    """
    return not any(
        other.detached
        or any(id(loop.node) not in shared for loop in other.loops())
        or once.ranks.some_ranks(other)
        or once.ranks.in_turn(other.stack)
        for other in once.reads.calls.get(id(event.node), ())
    )


def share_loop(first: Event, second: Event) -> bool:
    """Whether a loop is around both events."""
    loops = {id(loop.node) for loop in first.loops()}
    return any(id(loop.node) in loops for loop in second.loops())


def shared_calls(first: Event, second: Event) -> int:
    """How many calls lead to both events."""
    count = 0
    for one, other in zip(calls_of(first.stack), calls_of(second.stack), strict=False):
        if one.node is not other.node or one.function is not other.function:
            break
        count += 1
    return count
