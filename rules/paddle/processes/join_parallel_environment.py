"""Join the other processes once, where the process really starts, and leave them at the end.

What:
    Calls a set-up function after the command line is parsed (else at the start of ``main``, else
    below the imports), which checks what the launcher put into the environment and joins the
    parallel environment: with ``init_parallel_env``, or with ``fleet.init`` where ``--paddle-api
    fleet`` is chosen. At the end of the normal path every process waits for the others and leaves.

Why:
    Without a parallel environment every process trains a model of its own. A process that leaves
    while another still communicates takes that one down.

Before:
    def main():
        args = parser.parse_args()
        train(args)

After:
    def main():
        args = parser.parse_args()
        setup_distributed()
        train(args)
        cleanup_distributed()

Refuses when:
    there is no single place that every training step is reached from; a mode of Fluid is asked for.

Source:
    https://www.paddlepaddle.org.cn/documentation/docs/en/api/paddle/distributed/init_parallel_env_en.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.values import External
from transpile.layout import insert_after, insert_before
from transpile.plan.flow.entering import inside_main_guard, returns_early, set_up_statement
from transpile.plan.flow.leaving import leave_at_end, leave_behind
from transpile.plan.flow.places import Statement
from transpile.plan.flow.start import Start, find_start, is_main_guard, relevant
from transpile.plan.model import Plan
from transpile.records import replace
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.paddle.gradients._averaging import starts_apart
from transpile.rules.paddle.randomness._seeds import Sharing, imports_random, sharing_of
from transpile.text.changes import Edit, Insert

CODES = {
    "PD101": "the processes join where they start",
    "PD102": "there is no single place where the process starts",
    "PD912": "Paddle 2.x and 3.x have no such mode",
}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer: where to join, or that it is joined already."""
    if plan.options.mode == "nccl2":
        yield Ruling.refuse(
            "PD912",
            (plan.entry, plan.entry.source.tree),
            "--mode nccl2 is a mode of Fluid 1.x",
            "leave out --mode: gradients are averaged by collectives, also of static graphs",
        )
        return
    for event in plan.facts.reached_calls:
        if any(
            isinstance(c, External) and c.name in plan.table.distributed_starts
            for c in event.callee
        ):
            yield Ruling.done("PD101", event, "the script joins the other processes itself")
            return
    start = find_start(plan)
    if start is None and not relevant(plan):
        return
    if start is None:
        yield Ruling.refuse(
            "PD102",
            (plan.entry, plan.entry.source.tree),
            "no place in the script leads to all of its training",
            "call the training from one function of the script",
        )
        return
    yield Ruling.apply(
        "PD101", (plan.entry, start.parsed or start.first), "the processes join here", data=start
    )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The call of the set-up function and that of its counterpart."""
    start: Start = ruling.data
    yield Helper("setup_distributed", plan.entry)
    yield Helper("cleanup_distributed", plan.entry)
    source = plan.entry.source
    lines = [f"{plan.names_in(plan.entry).fresh('setup_distributed')}()"]
    if sharing_of(plan) is Sharing.NEEDED or starts_apart(plan):
        helper = "share_all_random_states" if imports_random(plan) else "share_random_state"
        if plan.way == "calls":
            helper = "take_random_states"
        yield Helper(helper, plan.entry)
        lines.append(f"{plan.names_in(plan.entry).fresh(helper)}()")
    if start.function is None and not inside_main_guard(plan, start):
        lines = ['if __name__ == "__main__":', *(f"    {line}" for line in lines)]
    if start.parsed is not None:
        changes = insert_after(source, start.parsed, lines, order=-10)
    else:
        before = insert_before(source, set_up_statement(start), lines, order=-10)
        changes = tuple(map(foremost, before))
    for change in changes:
        yield In(plan.entry, change)
    behind = what_follows(plan, start)
    leaving = [f"{plan.names_in(plan.entry).fresh('cleanup_distributed')}()"]
    if behind is not None:
        changes = leave_behind(plan, plan.entry, behind, False, leaving)
    elif start.function is not None and returns_early(start.function) and start.entered:
        changes = leave_behind(plan, plan.entry, start.entered, True, leaving)
    else:
        changes = leave_at_end(plan, plan.entry, start.block, start.last, leaving)
    for change in changes:
        yield In(plan.entry, change)


def what_follows(plan: Plan, start: Start) -> Statement | None:
    """The last statement behind the call of the function that trains; None where none follows.

    It may read what the training wrote, and wait for it.
    """
    if start.entered is None:
        return None
    block = plan.entry.source.parent(start.entered)
    if not isinstance(block, (cst.IndentedBlock, cst.Module)):
        return None
    last = block.body[-1]
    if last is start.entered or not isinstance(last, Statement):
        return None
    if isinstance(last, cst.SimpleStatementLine) and isinstance(last.body[-1], cst.Return):
        return None
    return None if isinstance(last, cst.If) and is_main_guard(last) else last


def foremost(edit: Edit) -> Edit:
    """An insertion that stands in front of all that others put before the same statement.

    A data set that is moved out of a loader's call may draw random numbers, or read a file: the
    processes must agree on them first, or wait for it.
    """
    if isinstance(edit, Insert) and edit.side == "before":
        return replace(edit, side="plain", anchor=None)
    return edit
