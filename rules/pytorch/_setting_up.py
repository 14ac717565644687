"""Where the process group is joined, and what happens before that."""

from __future__ import annotations

import libcst as cst

from transpile.facts.events import Event
from transpile.plan.model import Plan
from transpile.plan.places import index_in, site_at, statement_in
from transpile.plan.start import find_start
from transpile.records import dataclass
from transpile.rules.pytorch.join_process_group import set_up_statement


@dataclass(frozen=True, eq=False)
class SetUp:
    """The place of the set-up.

    Args:
        behind: the statement that it follows; None where it stands before one.
        before: the statement that it precedes; None where it follows one.
        order: events of a smaller order happen before it.
    """

    behind: cst.CSTNode | None
    before: cst.CSTNode | None
    order: int

    def after(self, event: Event) -> bool:
        """Whether the set-up comes after something that happens."""
        return event.order < self.order


def set_up_of(plan: Plan) -> SetUp | None:
    """The place of the set-up; None where there is none."""
    if "set up" not in plan.memo:
        plan.memo["set up"] = find_set_up(plan)
    found: SetUp | None = plan.memo["set up"]
    return found


def find_set_up(plan: Plan) -> SetUp | None:
    """See :func:`set_up_of`."""
    start = find_start(plan)
    if start is None:
        return None
    behind = start.parsed
    before = None if behind is not None else set_up_statement(start)
    if behind is not None:
        first = index_in(start.block, behind) + 1
    else:
        assert before is not None
        first = index_in(start.block, before)
    order = len(plan.facts.events)
    for event in plan.facts.events:
        if event.detached or event.order >= order:
            continue
        site = site_at(event, start.depth)
        statement = statement_in(plan.entry, start.block, site) if site is not None else None
        if statement is not None and index_in(start.block, statement) >= first:
            order = event.order
    return SetUp(behind, before, order)
