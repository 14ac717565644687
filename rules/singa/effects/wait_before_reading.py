"""Wait for the process that writes before every process reads.

What:
    All processes wait for each other before the statement in which every process reads a file that
    the script has written before: by then one process alone has written it.

Why:
    The others would find no file, an old one, or half of it.

Before:
    model.save_states("best.zip")
    model.load_states("best.zip")

After:
    if is_main_process():
        model.save_states("best.zip")
    wait_for_all()
    model.load_states("best.zip")

Refuses when:
    never: a path that differs from process to process is reported.

Source:
    https://singa.apache.org/docs/dist-train/
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.once import wait_before_reading
from transpile.plan.effects.readback import ReadBack
from transpile.plan.model import Plan
from transpile.records import replace
from transpile.result import Verdict
from transpile.rule import Answer, Change, Ruling, Rulings
from transpile.rules.singa._roles import methods_of
from transpile.rules.singa.effects._once import VOCABULARY, once_of

CODES = {
    "SG571": "every process waits before it reads what one process writes",
    "SG572": "every process reads from a path that only one of them has",
}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each place where a file is read back."""
    once_of(plan)
    for answer in wait_before_reading.decide(plan, VOCABULARY):
        if isinstance(answer, Ruling) and waits(plan, answer.data):
            yield replace(answer, verdict=Verdict.ALREADY_DONE)
        else:
            yield answer


def waits(plan: Plan, read_back: ReadBack) -> bool:
    """Whether numbers of all processes are added up between the writing and the reading."""
    return any(
        name == "all_reduce"
        for event in plan.facts.reached_calls
        if read_back.write.event.order < event.order < read_back.read.order
        for name, _ in methods_of(event)
    )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The wait before the statement."""
    yield from wait_before_reading.wait(
        plan, (ruling.module, ruling.data.statement), "wait_for_all"
    )
