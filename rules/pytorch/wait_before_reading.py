"""Wait for the process that writes before every process reads.

What:
    A barrier before the statement in which every process reads a file that the script has
    written before: by then one process alone has written it. Where one statement writes and reads,
    the barrier stands in the function that reads, or behind the write.

Why:
    The others would find no file, an old one, or half of it.

Before:
    torch.save(model.state_dict(), "best.pt")
    model.load_state_dict(torch.load("best.pt"))

After:
    if is_main_process():
        torch.save(model.state_dict(), "best.pt")
    barrier()
    model.load_state_dict(torch.load("best.pt"))

Refuses when:
    never: a path that differs from process to process is reported.

Source:
    https://pytorch.org/tutorials/intermediate/ddp_tutorial.html#save-and-load-checkpoints
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.layout import insert_before
from transpile.once import wait_before_reading
from transpile.plan.model import Plan
from transpile.plan.readback import ReadBack
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.pytorch._once import once_of
from transpile.rules.pytorch._vocabulary import VOCABULARY

CODES = {
    "PT571": "every process waits before it reads what one process writes",
    "PT572": "every process reads from a path that only one of them has",
}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each place where a file is read back."""
    once_of(plan)
    yield from wait_before_reading.decide(plan, VOCABULARY)


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The barrier before the statement."""
    read_back: ReadBack = ruling.data
    yield Helper("barrier", read_back.module)
    line = f"{plan.names_in(read_back.module).fresh('barrier')}()"
    for edit in insert_before(read_back.module.source, read_back.statement, [line]):  # type: ignore[arg-type]
        yield In(read_back.module, edit)
