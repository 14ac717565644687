"""Waiting for a file that one process writes, before every process reads it back."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.finding import Level
from transpile.once.shared import once_of
from transpile.plan.effects import Vocabulary
from transpile.plan.model import Plan
from transpile.plan.readback import find_read_backs
from transpile.result import Verdict
from transpile.rule import Answer, Remark, Ruling


def decide(plan: Plan, vocabulary: Vocabulary) -> Iterator[Answer]:
    """One answer for each place where a file is read back."""
    for read_back in find_read_backs(once_of(plan), vocabulary):
        if read_back.differs:
            yield Remark(
                f"{plan.table.prefix}572",
                Level.WARNING,
                read_back.read.module,
                read_back.read.node,
                f"the path is made by {read_back.differs} and differs from process to process, "
                "but only one process writes there",
                "make the path on rank 0 and broadcast it, or take it from the command line",
            )
        yield Ruling(
            f"{plan.table.prefix}571",
            Verdict.ALREADY_DONE if read_back.waits else Verdict.APPLY,
            read_back.module,
            read_back.statement,
            f"every process waits here for what {read_back.write.word} writes",
            data=read_back,
        )
