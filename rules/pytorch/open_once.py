"""Open files for writing on one process, and nowhere else.

What:
    A file that is opened for writing where no guard can go around all of its uses is opened on
    the process with rank 0; the others write to nowhere. Everything written through the handle
    (``csv``, ``json.dump``, ``print(file=...)``) needs no change then. The same goes for log files.

Why:
    Processes that write one file at the same time overwrite each other's lines.

Before:
    results = open("results.csv", "w")

After:
    results = open("results.csv" if is_main_process() else os.devnull, "w")

Refuses when:
    never: files that are read and written through one handle are reported.

Source:
    https://docs.python.org/3/library/os.html#os.devnull
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.once import open_once
from transpile.once.open_once import edits
from transpile.plan.model import Plan
from transpile.rule import Answer
from transpile.rules.pytorch._once import once_of

__all__ = ["CODES", "decide", "edits"]

CODES = {
    "PT521": "a file is opened for writing by one process",
    "PT522": "a file is opened for writing by every process",
}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each effect of the script."""
    once_of(plan)
    yield from open_once.decide(plan)
