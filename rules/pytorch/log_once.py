"""Log once per job; warnings and errors of all processes stay.

What:
    Right after the process group is joined, logging up to the level of information is switched
    off in every process but the one with rank 0. Where something is logged earlier, it is
    switched off before that.

Why:
    With N processes every message would come out N times. A warning or an error of one process
    must not be lost.

Before:
    logging.info("training on %s", device)

After:
    if not is_main_process():
        logging.disable(logging.INFO)
    logging.info("training on %s", device)

Refuses when:
    never.

Source:
    https://docs.python.org/3/library/logging.html#logging.disable
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.once import log_once
from transpile.once.log_once import edits
from transpile.plan.model import Plan
from transpile.rule import Answer
from transpile.rules.pytorch._once import once_of

__all__ = ["CODES", "decide", "edits"]

CODES = {"PT541": "logs once per job, but for warnings and errors"}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each effect of the script."""
    once_of(plan)
    yield from log_once.decide(plan)
