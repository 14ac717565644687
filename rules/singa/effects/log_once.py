"""Log once per job; warnings and errors of all processes stay.

What:
    Logging up to the level of information is switched off in every process but the one with
    rank 0, before anything is logged.

Why:
    With N processes every message would come out N times. A warning or an error of one process
    must not be lost.

Before:
    logging.info("epoch %d", epoch)

After:
    quiet_logging()
    logging.info("epoch %d", epoch)

Refuses when:
    never.

Source:
    https://docs.python.org/3/library/logging.html#logging.disable
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.layout import insert_before
from transpile.once.log_once import first_statement, switched_off
from transpile.plan.effects.effects import Kind
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.singa.effects._once import once_of

CODES = {"SG541": "logs once per job, but for warnings and errors"}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for all messages of the script."""
    once = once_of(plan)
    logs = [effect for effect in once.effects.values() if effect.kind is Kind.LOG]
    events = [event for effect in logs for event in effect.events if not event.detached]
    if not events:
        return
    done = switched_off(plan, once) or all(id(effect.node) in once.done for effect in logs)
    before = first_statement(plan, min(events, key=lambda event: event.order))
    if done or before is not None:
        yield Ruling.apply(
            "SG541",
            (plan.entry, before or plan.entry.source.tree),
            "messages below a warning come out once per job",
            claims=tuple(effect.node for effect in logs),
            done=done,
        )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The call that switches logging off."""
    yield Helper("quiet_logging", plan.entry)
    line = f"{plan.names_in(plan.entry).fresh('quiet_logging')}()"
    for edit in insert_before(plan.entry.source, ruling.node, [line], order=-8):  # type: ignore[arg-type]
        yield In(plan.entry, edit)
