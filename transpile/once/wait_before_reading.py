"""Waiting for a file that one process writes, before every process reads it back."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from transpile.layout import insert_before
from transpile.once.shared import once_of
from transpile.plan.effects.effects import Vocabulary
from transpile.plan.effects.readback import ReadBack, find_read_backs
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Place, Remark, Ruling, spot
from transpile.text.changes import Insert

#: In front of arguments that are evaluated ahead of a guarded call, which may be what reads.
BEFORE_ALL = -200


def never(read_back: ReadBack) -> bool:
    """No path is made equal."""
    return False


def decide(
    plan: Plan, vocabulary: Vocabulary, is_settled: Callable[[ReadBack], bool] = never
) -> Iterator[Answer]:
    """One answer for each place where a file is read back.

    Args:
        plan: the plan.
        vocabulary: what writes and reads.
        is_settled: whether another rule makes a path that differs equal on all processes.
    """
    for read_back in find_read_backs(once_of(plan), vocabulary):
        if read_back.differs and not is_settled(read_back):
            yield Remark.warn(
                f"{plan.table.prefix}572",
                read_back.read,
                f"the path is made by {read_back.differs} and differs from process to process, "
                "but only one process writes there",
                "make the path on rank 0 and broadcast it, or take it from the command line",
            )
        yield Ruling.apply(
            f"{plan.table.prefix}571",
            (read_back.module, read_back.statement),
            f"every process waits here for what {read_back.write.word} writes",
            data=read_back,
            done=read_back.waits,
        )


def wait(plan: Plan, place: Place, helper: str) -> Iterator[Change]:
    """Call the helper in which all processes wait for each other before a statement."""
    module, statement = spot(place)
    yield Helper(helper, module)
    line = f"{plan.names_in(module).fresh(helper)}()"
    for edit in insert_before(module.source, statement, [line]):  # type: ignore[arg-type]
        if isinstance(edit, Insert):
            edit = Insert(edit.offset, edit.text, BEFORE_ALL)
        yield In(module, edit)
