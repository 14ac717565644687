"""Wait for a file that one worker writes before all read it.

What:
    Where every worker reads a file that only the worker with rank 0 has written, all wait for each
    other before.

Why:
    The others would find no file, or half of it.

Before:
    net.load_parameters("best.params")

After:
    wait_for_workers()
    net.load_parameters("best.params")

Refuses when:
    never.

Source:
    https://mxnet.apache.org/versions/1.9.1/api/python/docs/api/kvstore/index.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.layout import insert_before
from transpile.plan.effects.readback import ReadBack, find_read_backs
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.mxnet._roles import receivers_of
from transpile.rules.mxnet.effects._once import VOCABULARY, once_of

CODES = {"MX571": "all workers wait before they read what one worker writes"}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each place where a file is read back."""
    for read_back in find_read_backs(once_of(plan), VOCABULARY):
        yield Ruling.apply(
            "MX571",
            (read_back.module, read_back.statement),
            f"all workers wait here for what {read_back.write.word} writes",
            data=read_back,
            done=waits(plan, read_back),
        )


def waits(plan: Plan, read_back: ReadBack) -> bool:
    """Whether workers wait for each other between the writing and the reading."""
    return read_back.waits or any(
        event.kind == "call"
        and read_back.write.event.order < event.order < read_back.read.order
        and bool(receivers_of(event, "_barrier"))
        for event in plan.facts.events
    )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The barrier before the statement."""
    read_back: ReadBack = ruling.data
    yield Helper("wait_for_workers", read_back.module)
    line = f"{plan.names_in(read_back.module).fresh('wait_for_workers')}()"
    for edit in insert_before(read_back.module.source, read_back.statement, [line]):  # type: ignore[arg-type]
        yield In(read_back.module, edit)
