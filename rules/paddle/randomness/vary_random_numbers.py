"""Let every process draw noise of its own in training.

What:
    Before the loop that trains, every process but that of rank 0 seeds its random numbers anew.
    Until then all draw the same, so that splits and initial weights agree.

Why:
    With one seed in all processes every share of a batch gets the same dropout masks and the same
    augmentation, which is less noise than the script means.

Before:
    for epoch in range(epochs):
        train(model, train_loader)

After:
    vary_random_numbers()
    for epoch in range(epochs):
        train(model, train_loader)

Refuses when:
    never.

Source:
    https://www.paddlepaddle.org.cn/documentation/docs/en/api/paddle/seed_en.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.events import Loop
from transpile.facts.values import External
from transpile.layout import insert_before
from transpile.plan.flow.places import Statement
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.paddle.effects._once import once_of
from transpile.rules.paddle.randomness._seeds import draws_noise, imports_random

CODES = {"PD711": "each process draws random numbers of its own in training"}
#: Where calls are split, every process has whole batches.
WAYS = ("data",)


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for the outermost loop that trains."""
    if not draws_noise(plan):
        return
    seen: set[int] = set()
    for backward in plan.backwards:
        if backward.event.detached or backward.batch_loop is None:
            continue
        loop = (*backward.epoch_loops, backward.batch_loop)[0]
        if id(loop.node) in seen:
            continue
        seen.add(id(loop.node))
        yield Ruling.apply(
            "PD711",
            loop,
            "from here on each process draws random numbers of its own",
            data=loop,
            done=varied(plan),
        )


def varied(plan: Plan) -> bool:
    """Whether some processes seed their random numbers by themselves."""
    return any(
        event.kind == "call"
        and External("paddle.seed") in event.callee
        and once_of(plan).ranks.some_ranks(event)
        for event in plan.facts.events
    )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The call before the loop."""
    loop: Loop = ruling.data
    statement = loop.node
    helper = "vary_all_random_numbers" if imports_random(plan) else "vary_random_numbers"
    yield Helper(helper, loop.module)
    lines = [f"{plan.names_in(loop.module).fresh(helper)}()"]
    assert isinstance(statement, Statement)
    for edit in insert_before(loop.module.source, statement, lines, order=-3):
        yield In(loop.module, edit)
