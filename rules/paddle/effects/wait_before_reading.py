"""Wait for the process that writes before every process reads.

What:
    A barrier before the statement in which every process reads a file that the script has
    written before: by then one process alone has written it.

Why:
    The others would find no file, an old one, or half of it.

Before:
    paddle.save(model.state_dict(), "best.pdparams")
    model.set_state_dict(paddle.load("best.pdparams"))

After:
    if is_main_process():
        paddle.save(model.state_dict(), "best.pdparams")
    if dist.get_world_size() > 1:
        dist.barrier()
    model.set_state_dict(paddle.load("best.pdparams"))

Refuses when:
    never: a path that differs from process to process is reported.

Source:
    https://www.paddlepaddle.org.cn/documentation/docs/en/api/paddle/distributed/barrier_en.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.layout import insert_before
from transpile.once import wait_before_reading
from transpile.plan.effects.readback import ReadBack
from transpile.plan.flow.entering import set_up_of
from transpile.plan.flow.start import Start, find_start
from transpile.plan.model import Plan
from transpile.records import replace
from transpile.result import Verdict
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.paddle.effects._once import VOCABULARY, once_of
from transpile.rules.paddle.high_level._high_level_files import Awaited, awaited
from transpile.rules.paddle.processes.join_parallel_environment import foremost
from transpile.rules.paddle.static._static import static_of

CODES = {
    "PD571": "every process waits before it reads what one process writes",
    "PD572": "every process reads from a path that only one of them has",
    "PD573": "a file is read before the processes have joined",
}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each place where a file is read back."""
    once_of(plan)
    set_up, start = set_up_of(plan), find_start(plan)
    for answer in wait_before_reading.decide(plan, VOCABULARY):
        if not isinstance(answer, Ruling) or answer.verdict is not Verdict.APPLY:
            yield answer
            continue
        read_back: ReadBack = answer.data
        if set_up is not None and set_up.after(read_back.read):
            yield Remark.warn(
                "PD573",
                read_back.read,
                "this is read before the processes have joined, while one of them may still write",
                "read it behind the call of setup_distributed",
            )
        elif start is not None and encloses(plan, read_back, start):
            # Nobody goes on from joining before the process that writes has come there.
            yield replace(answer, verdict=Verdict.ALREADY_DONE)
        else:
            yield answer
    for place in awaited(plan):
        yield Ruling.apply(
            "PD571",
            (place.module, place.statement),
            "every process waits here for what the high-level interface writes",
            data=place,
            done=place.waits,
        )


def encloses(plan: Plan, read_back: ReadBack, start: Start) -> bool:
    """Whether the processes join within the statement that reads."""
    entered = start.entered
    if entered is None or read_back.module is not plan.entry:
        return False
    statement = read_back.statement
    return statement is entered or statement in plan.entry.source.parents(entered)


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The barrier before the statement."""
    read_back: ReadBack | Awaited = ruling.data
    names = plan.names_in(read_back.module)
    if static_of(plan) is not None:
        yield Helper("wait_for_all", read_back.module)
        lines = [f"{names.fresh('wait_for_all')}()"]
    else:
        dist = names.imported("paddle.distributed", "dist")
        lines = [f"if {dist}.get_world_size() > 1:", f"    {dist}.barrier()"]
    for edit in insert_before(
        read_back.module.source, read_back.statement, lines, order=-5  # type: ignore[arg-type]
    ):
        yield In(read_back.module, foremost(edit))
