"""Show progress bars on trainer 0 alone.

What:
    Progress bars are given ``disable=`` for every process but trainer 0.

Why:
    Bars of several trainers overwrite each other.

Before:
    for batch in tqdm(train_reader()):

After:
    for batch in tqdm(train_reader(), disable=not is_main_process()):

Refuses when:
    never: bars that take no such argument are reported.

Source:
    https://tqdm.github.io/docs/tqdm/
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.once import progress_once
from transpile.once.progress_once import edits
from transpile.plan.model import Plan
from transpile.rule import Answer
from transpile.rules.fluid.effects._once import once_of

__all__ = ["CODES", "decide", "edits"]

CODES = {
    "FL531": "a progress bar shows in one process",
    "FL532": "a progress bar shows in every process",
}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each effect of the script."""
    once_of(plan)
    yield from progress_once.decide(plan)
