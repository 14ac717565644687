"""Agree on random numbers while the training is set up, and differ once it runs.

What:
    Where the script does not seed all that it uses, rank 0 hands its random state to all, once
    the process group is joined. Just before the epochs begin, every rank but 0 seeds anew with its
    rank added. A single process draws what it always drew.

Why:
    Splits, initial weights and shuffled vocabularies must be the same everywhere; dropout and
    augmentation must not be, or every rank distorts its own samples in the same way.

Before:
    for epoch in range(epochs):
        train(model, train_loader, optimizer)

After:
    vary_seed()
    for epoch in range(epochs):
        train(model, train_loader, optimizer)

Refuses when:
    data, weights or losses are made of random numbers that nothing seeds, drawn where a module is
    imported or between the imports.

Source:
    https://pytorch.org/docs/stable/notes/randomness.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Branch, Event, Loop
from transpile.facts.module import Module
from transpile.facts.values import External
from transpile.layout import insert_after, insert_before
from transpile.plan.data.made_of import of_loaders, reach
from transpile.plan.data.sources import is_literal_loop
from transpile.plan.flow.entering import SetUp, set_up_of, set_up_statement
from transpile.plan.flow.gate import depends_on_calls
from transpile.plan.flow.places import Statement, ancestors, insertion_place, statement_of
from transpile.plan.flow.start import Start, find_start
from transpile.plan.graph import given_by
from transpile.plan.model import Backward, Plan
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.pytorch.processes.join_process_group import foremost
from transpile.rules.pytorch.randomness._early_draws import early_draws
from transpile.rules.pytorch.randomness._library_draws import may_draw as may_draw_in
from transpile.rules.pytorch.randomness._seeds import (
    CHANCE,
    SEEDING,
    SEEDS,
    calls_of_seeding,
    seeds_everything,
)

CODES = {
    "PT701": "every process starts from the random state of rank 0",
    "PT702": "every rank trains with random numbers of its own",
    "PT703": "random numbers are drawn before the processes can agree on them",
}

SEED_BEFORE = "seed the random numbers in front of it, or draw them in a function that main() calls"


def decide(plan: Plan) -> Iterator[Answer]:
    """Whether to share a seed, and where the ranks part."""
    if seeded_by_rank(plan):
        yield Ruling.done(
            "PT702", (plan.entry, plan.entry.source.tree), "the ranks seed their own random numbers"
        )
        return
    start = find_start(plan)
    if start is None:
        return
    yield from beyond_reach(plan)
    if not seeds_everything(plan) or early_draws(plan):
        yield Ruling.apply(
            "PT701",
            (plan.entry, start.parsed or start.first),
            "rank 0 hands its random state to all",
            data=start,
        )
    loops = training_loops(plan) if plan.way == "data" else []
    for loop in loops if loops and may_draw(plan) else ():
        yield Ruling.apply(
            "PT702", loop, "from here on each rank draws random numbers of its own", data=loop
        )


def may_draw(plan: Plan) -> bool:
    """Whether there is anything in which the ranks are to differ, in a script that has no ranks."""
    if any(True for _ in plan.facts.calls_to(*plan.table.distributed_starts)):
        return False
    from transpile.rules.pytorch.randomness._training_draws import may_draw_in_training

    found: bool = may_draw_in_training(plan)
    return found


def beyond_reach(plan: Plan) -> Iterator[Answer]:
    """Draws that the training depends on, made before the processes can agree on them."""
    set_up = set_up_of(plan)
    if set_up is None:
        return
    for event in early_draws(plan):
        if not set_up.after(event):
            continue
        yield Ruling.refuse(
            "PT703",
            event,
            "each process draws this for itself, before the processes can agree on random numbers",
            SEED_BEFORE,
        )
        return
    # Where batches are sharded, it is told of where they come from.
    yield from kept_by_libraries(plan, set_up) if plan.way == "calls" else ()


def kept_by_libraries(plan: Plan, set_up: SetUp) -> Iterator[Remark]:
    """What libraries make of random numbers of each process, for the training to go over."""
    from transpile.rules.pytorch.randomness._random_draws import Draws

    draws, reached = Draws(plan), gone_over(plan)
    for event in plan.facts.reached_calls:
        made = [
            value for value in event.result if id(value) in reached and may_draw_in(plan, value)
        ]
        if not set_up.after(event) or all(draws.equal(event, source) for source in SEEDS):
            continue
        if made:
            yield Remark.warn(
                "PT703",
                event,
                "this may draw random numbers, or keep their state for later, each process for "
                "itself, before the processes can agree on them: where it does, they have other "
                "batches, and the job stops",
                SEED_BEFORE,
            )
            return


def gone_over(plan: Plan) -> set[int]:
    """What the loops around backward passes go over is made of, by identity."""
    reached = set(of_loaders(plan))
    for backward in plan.backwards:
        for loop in backward.event.loops():
            if isinstance(loop.node, cst.For):
                reach(plan.facts.values_of(loop.node.iter), reached)
    return reached


def seeded_by_rank(plan: Plan) -> bool:
    """Whether some seed depends on the rank, or is set only with several processes."""
    seeding = {External("torch.manual_seed"), External("torch.set_rng_state")}
    for event in plan.facts.calls:
        if not (seeding & set(event.callee)):
            continue
        for frame in event.stack:
            if isinstance(frame, Branch) and isinstance(frame.node, cst.If):
                test = plan.facts.values_of(frame.node.test)
                if depends_on_calls(test, plan.table.rank_calls | plan.table.world_size_calls):
                    return True
    return False


def training_loops(plan: Plan) -> list[Loop]:
    """The loop in which training begins, and those that a run of the script takes instead of it."""
    first = training_loop(plan)
    found = [first] if first is not None else []
    began = next((one for one in plan.backwards if loop_of(plan, one) is first), None)
    for backward in plan.backwards if began is not None else ():
        loop = loop_of(plan, backward)
        if loop is None or any(loop.node is other.node for other in found):
            continue
        if began is not None and exclude_each_other(began.event, backward.event):
            found.append(loop)
    return found


def exclude_each_other(one: Event, other: Event) -> bool:
    """Whether two events stand on different arms of one condition."""
    arms = {id(each.node): each.arm for each in one.stack if isinstance(each, Branch)}
    return any(
        isinstance(each, Branch)
        and isinstance(each.node, (cst.If, cst.IfExp))
        and arms.get(id(each.node), each.arm) != each.arm
        for each in other.stack
    )


def loop_of(plan: Plan, backward: Backward) -> Loop | None:
    """The loop of epochs around a backward pass, or that of batches where there are none."""
    if backward.event.detached or backward.batch_loop is None:
        return None
    for loop in reversed(backward.epoch_loops):
        if not is_literal_loop(plan, loop):
            return loop
    return backward.batch_loop


def training_loop(plan: Plan) -> Loop | None:
    """The loop of epochs, or that of batches where there are none."""
    for backward in plan.backwards:
        loop = loop_of(plan, backward)
        if loop is not None:
            return loop
    for backward in plan.backwards:
        # Batches that a generator hands on are drawn in no loop of the training's own.
        around = [loop for loop in backward.event.loops() if not is_literal_loop(plan, loop)]
        if around and backward.loaders and not backward.event.detached:
            return around[-2] if len(around) > 1 else around[-1]
    return None


def last_chance(plan: Plan) -> tuple[Module, Statement] | None:
    """The last statement between set-up and training that seeds by chance.

    Within the training every rank has random numbers of its own, and may come there alone.
    """
    found: tuple[Module, Statement] | None = None
    set_up = set_up_of(plan)
    for event in calls_of_seeding(plan, *SEEDING):
        if not given_by(event, CHANCE) or in_lambda(event) or set_up is None or set_up.after(event):
            continue
        statement = insertion_place(event.module, event.node)
        if statement is not None and not plan.in_training(event.stack):
            found = (event.module, statement)
    return found


def shared_again(plan: Plan, helper: str) -> Iterator[Change]:
    """The sharing behind a seed by chance: what is drawn next may be the split of the data."""
    behind = last_chance(plan)
    if behind is None:
        return
    module, statement = behind
    yield Helper(helper, module)
    lines = [f"{plan.names_in(module).fresh(helper)}()"]
    for edit in insert_after(module.source, statement, lines):
        yield In(module, edit)


def in_lambda(event: Event) -> bool:
    """Whether a lambda does it, which loaders are given for their workers."""
    return any(isinstance(node, cst.Lambda) for node in ancestors(event.module, event.node))


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The calls of the helpers."""
    if ruling.code == "PT701":
        start: Start = ruling.data
        helper = "share_random_state"
        lines = [f"{plan.names_in(plan.entry).fresh(helper)}()"]
        source = plan.entry.source
        yield Helper(helper, plan.entry)
        if start.parsed is not None:
            changes = insert_after(source, start.parsed, lines, order=-9)
        else:
            before = insert_before(source, set_up_statement(start), lines, order=-9)
            changes = foremost(before)
        for edit in changes:
            yield In(plan.entry, edit)
        yield from shared_again(plan, helper)
        return
    loop: Loop = ruling.data
    helper = "vary_seed"
    yield Helper(helper, loop.module)
    name = plan.names_in(loop.module).fresh(helper)
    statement = statement_of(loop.module, loop.node)
    if statement is not None:
        for edit in insert_before(loop.module.source, statement, [f"{name}()"], order=30):
            yield In(loop.module, edit)
