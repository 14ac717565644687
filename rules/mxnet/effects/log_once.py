"""Log once per job; warnings and errors of all workers stay.

What:
    Below the imports, behind the store, logging up to the level of information is switched off in
    every worker but the one with rank 0: ``Module.fit``, ``Speedometer`` and most callbacks report
    through it.

Why:
    With N workers every message would come out N times. A warning must not be lost.

Before:
    import logging

After:
    quiet_logging()

Refuses when:
    never.

Source:
    https://docs.python.org/3/library/logging.html#logging.disable
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.once.log_once import switched_off
from transpile.plan.effects.effects import Kind
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, Ruling, Rulings
from transpile.rules.mxnet._roles import fits
from transpile.rules.mxnet.effects._once import once_of

CODES = {"MX541": "logs once per job, but for warnings and errors"}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for all messages of the script."""
    once = once_of(plan)
    logs = [effect.node for effect in once.effects.values() if effect.kind is Kind.LOG]
    if logs or fits(plan):
        yield Ruling.apply(
            "MX541",
            (plan.entry, plan.entry.source.tree),
            "messages below a warning come out once per job",
            claims=tuple(logs),
            done=switched_off(plan, once),
        )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The statement that switches logging off."""
    yield Helper("quiet_logging", plan.entry)
