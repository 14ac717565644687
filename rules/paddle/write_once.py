"""Write files, plots, records and raw output once per job.

What:
    Statements that do nothing but write (``paddle.save``, ``os.makedirs``, ``plt.savefig``,
    ``sys.stdout.write``, records of a tracker, ...) go under a test for rank 0, neighbours together
    under one. Where the only such statement is an ``if``, its condition is extended. An argument
    that does more than read is bound to a name first, in every process.

Why:
    Processes that write one file at the same time leave it torn, and plots, directories and
    records would be made N times.

Before:
    if args.save_model:
        paddle.save(model.state_dict(), "model.pdparams")

After:
    if args.save_model and is_main_process():
        paddle.save(model.state_dict(), "model.pdparams")

Refuses when:
    a module of the project writes where every process comes by; other writes that cannot be
    guarded are reported.

Source:
    https://www.paddlepaddle.org.cn/documentation/docs/en/api/paddle/distributed/get_rank_en.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.once import write_once
from transpile.once.write_once import edits
from transpile.plan.model import Plan
from transpile.rule import Answer
from transpile.rules.paddle._once import once_of

__all__ = ["CODES", "decide", "edits"]

CODES = {
    "PD511": "writes once per job",
    "PD512": "something is written in every process",
    "PD514": "a person is waited for while the other processes go on",
}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each effect of the script."""
    once_of(plan)
    yield from write_once.decide(plan)
