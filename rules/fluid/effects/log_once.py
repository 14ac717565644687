"""Log on trainer 0 alone, but for warnings and errors.

What:
    Switches messages below a warning off in every process but trainer 0, before the first one.

Why:
    Every message would come out once for each trainer.

Before:
    logger.info("start")

After:
    if not is_main_process():
        logging.disable(logging.INFO)
    logger.info("start")

Refuses when:
    never.

Source:
    https://www.paddlepaddle.org.cn/documentation/docs/en/1.8/api/transpiler/DistributeTranspiler.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.once import log_once
from transpile.once.log_once import edits
from transpile.plan.model import Plan
from transpile.rule import Answer
from transpile.rules.fluid.effects._once import once_of

__all__ = ["CODES", "decide", "edits"]

CODES = {
    "FL541": "logs once per job, but for warnings and errors",
}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each effect of the script."""
    once_of(plan)
    yield from log_once.decide(plan)
