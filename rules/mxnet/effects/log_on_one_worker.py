"""Log once per job; warnings and errors of all workers stay.

What:
    Below the imports, behind the store, logging up to the level of information is switched off in
    every worker but the one with rank 0: ``Module.fit``, ``Speedometer`` and most callbacks report
    through it. Progress bars are switched off there, too.

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

import libcst as cst

from transpile.facts.values import Constant, External
from transpile.layout import add_argument
from transpile.plan.effects.effects import Effect, Kind
from transpile.plan.model import Plan
from transpile.result import Verdict
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.mxnet._roles import fits
from transpile.rules.mxnet.effects._once import argument_of, main_process, once_of

CODES = {
    "MX541": "logs once per job, but for warnings and errors",
    "MX542": "a progress bar shows in one worker",
}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for all messages of the script, and one for each progress bar."""
    once = once_of(plan)
    logs = [effect.node for effect in once.effects.values() if effect.kind is Kind.LOG]
    if logs or fits(plan):
        off = any(
            event.kind == "call"
            and External("logging.disable") in event.callee
            and once.ranks.some_ranks(event)
            for event in plan.facts.events
        )
        yield Ruling.apply(
            "MX541",
            (plan.entry, plan.entry.source.tree),
            "messages below a warning come out once per job",
            claims=tuple(logs),
            done=off,
        )
    for effect in once.effects.values():
        if effect.kind is Kind.PROGRESS and id(effect.node) not in once.idle:
            yield bar(plan, effect)


def bar(plan: Plan, effect: Effect) -> Ruling:
    """The answer for a progress bar."""
    argument = effect.event.arguments.keyword("disable")
    done = argument is not None and (
        argument.values == (Constant(True),) or once_of(plan).ranks.is_rank(argument.values)
    )
    free = argument_of(effect, ("disable",), 99) is None and not done
    return Ruling(
        "MX542",
        Verdict.APPLY if free else Verdict.ALREADY_DONE,
        effect.module,
        effect.node,
        "the bar shows once per job",
        data=effect.node,
        claims=(effect.node,),
    )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The statement that switches logging off, or the argument that switches a bar off."""
    if ruling.code == "MX541":
        yield Helper("quiet_logging", plan.entry)
        return
    node: cst.Call = ruling.data
    yield Helper("is_main_process", ruling.module)
    test = main_process(plan, ruling.module)
    for edit in add_argument(ruling.module.source, node, f"disable=not {test}"):
        yield In(ruling.module, edit)
