"""Open files for writing on trainer 0 alone.

What:
    A file that stays open for writing is opened by trainer 0; the others write to nowhere.

Why:
    Trainers that write into one file mix their lines.

Before:
    log = open("log.txt", "w")

After:
    log = open("log.txt" if is_main_process() else os.devnull, "w")

Refuses when:
    never: files that cannot be told apart are reported.

Source:
    https://www.paddlepaddle.org.cn/documentation/docs/en/1.8/api/transpiler/DistributeTranspiler.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.once import open_once
from transpile.once.open_once import edits
from transpile.plan.model import Plan
from transpile.rule import Answer
from transpile.rules.fluid.effects._once import once_of

__all__ = ["CODES", "decide", "edits"]

CODES = {
    "FL521": "a file is opened for writing by one process",
    "FL522": "a file is opened for writing by every process",
}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each effect of the script."""
    once_of(plan)
    yield from open_once.decide(plan)
