"""Let the workers end together, once all that they have sent has arrived.

What:
    At the end of a script that trains with a ``Trainer`` or steps a ``Module`` itself, each worker
    waits for its own pushes and then for the other workers. ``fit`` does so itself: it reads the
    parameters back after each epoch.

Why:
    A worker whose process ends with pushes on their way may hang in them for ever, and with it
    the job.

Before:
    print(net.weight.data().norm())

After:
    print(net.weight.data().norm())
    leave_together()

Refuses when:
    never.

Source:
    https://mxnet.apache.org/versions/1.9.1/api/faq/distributed_training
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.layout import insert_after, insert_before
from transpile.plan.flow.places import Statement
from transpile.plan.flow.start import find_start, is_main_guard
from transpile.plan.model import Plan
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.mxnet._roles import receivers_of, updates

CODES = {"MX106": "the workers end together"}
ENDING = frozenset({"builtins.exit", "builtins.quit", "sys.exit", "os._exit"})


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for a script that takes its steps itself."""
    steps = [update.event for update in updates(plan)]
    if not steps:
        return
    last = max(event.order for event in steps)
    waits = any(
        event.kind == "call" and event.order > last and bool(receivers_of(event, "_barrier"))
        for event in plan.facts.events
    )
    statement = last_statement(plan)
    yield Ruling.apply(
        "MX106",
        (plan.entry, statement),
        "the workers wait for their pushes and for each other here",
        data=statement,
        done=waits,
    )


def last_statement(plan: Plan) -> Statement:
    """The statement with which the script ends."""
    block: cst.CSTNode = plan.entry.source.tree
    last: Statement = plan.entry.source.tree.body[-1]
    if isinstance(last, cst.If) and is_main_guard(last):
        block, last = last.body, last.body.body[-1]  # type: ignore[assignment]
    start = find_start(plan)
    if ends_process(plan, last) and start is not None and start.block is not block:
        # What it is ended with is the function that trains: ``sys.exit(main())``.
        last = start.block.body[-1]  # type: ignore[attr-defined]
    return last


def ends_process(plan: Plan, statement: cst.CSTNode) -> bool:
    """Whether a statement ends the process, so that nothing behind it happens."""
    if not isinstance(statement, cst.SimpleStatementLine):
        return False
    small = statement.body[-1]
    if isinstance(small, (cst.Return, cst.Raise)):
        return True
    called = small.value if isinstance(small, cst.Expr) else None
    return isinstance(called, cst.Call) and any(
        getattr(value, "name", "") in ENDING for value in plan.facts.values_of(called.func)
    )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The call at the end."""
    yield Helper("leave_together", plan.entry)
    line = f"{plan.names_in(plan.entry).fresh('leave_together')}()"
    put = insert_before if ends_process(plan, ruling.data) else insert_after
    for edit in put(plan.entry.source, ruling.data, [line], order=100):
        yield In(plan.entry, edit)
