"""Show progress bars once per job.

What:
    Bars of ``tqdm``, ``rich`` and ``alive_progress`` are switched off in every process but the one
    with rank 0; they still iterate there.

Why:
    N bars would overwrite each other on one terminal.

Before:
    for data, target in tqdm(train_loader):

After:
    for data, target in tqdm(train_loader, disable=not is_main_process()):

Refuses when:
    never: bars that cannot be switched off are reported.

Source:
    https://tqdm.github.io/docs/tqdm/#tqdm-objects
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.once import progress_once
from transpile.once.progress_once import edits
from transpile.plan.model import Plan
from transpile.rule import Answer
from transpile.rules.pytorch._once import once_of

__all__ = ["CODES", "decide", "edits"]

CODES = {
    "PT531": "a progress bar shows in one process",
    "PT532": "a progress bar shows in every process",
}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each effect of the script."""
    once_of(plan)
    yield from progress_once.decide(plan)
