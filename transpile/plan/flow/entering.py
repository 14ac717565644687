"""Where the processes join, and what happens before that."""

from __future__ import annotations

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.walk import children
from transpile.layout.imports import last_import
from transpile.plan.flow.places import Statement, index_in, site_at, statement_in
from transpile.plan.flow.start import Start, find_start
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.records import dataclass


@dataclass(frozen=True, eq=False)
class SetUp:
    """The place of the set-up.

    Args:
        behind: the statement that it follows; None where it stands before one.
        before: the statement that it precedes; None where it follows one.
        order: events of a smaller order happen before it.
    """

    behind: Statement | None
    before: Statement | None
    order: int

    def after(self, event: Event) -> bool:
        """Whether the set-up comes after something that happens."""
        return event.order < self.order


@query
def set_up_of(plan: Plan) -> SetUp | None:
    """The place of the set-up; None where there is none."""
    start = find_start(plan) if plan.table.joins else None
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


def set_up_statement(start: Start) -> Statement:
    """The statement before which the set-up stands where no command line is parsed."""
    statements: list[Statement] = list(start.block.body)  # type: ignore[attr-defined]
    # What sets it up is defined behind the imports, whatever stands between them.
    header = last_import(start.module.source)
    behind = [index for index, each in enumerate(statements) if each is header]
    if behind:
        statements = statements[behind[0] + 1 :]
    for statement in statements:
        if statement is start.first or not is_preliminary(statement):
            return statement
    return start.first


def is_preliminary(statement: cst.CSTNode) -> bool:
    """Imports, definitions, docstrings and plain constants: nothing happens in them."""
    if isinstance(statement, (cst.FunctionDef, cst.ClassDef)):
        return True
    if not isinstance(statement, cst.SimpleStatementLine):
        return False
    for small in statement.body:
        if isinstance(small, (cst.Import, cst.ImportFrom)):
            continue
        if isinstance(small, cst.Expr) and isinstance(
            small.value, (cst.SimpleString, cst.ConcatenatedString)
        ):
            continue
        if isinstance(small, cst.Assign) and isinstance(
            small.value, (cst.Integer, cst.Float, cst.SimpleString)
        ):
            continue
        return False
    return True


def inside_main_guard(plan: Plan, start: Start) -> bool:
    """Whether the block is the body of the main guard."""
    parent = plan.entry.source.parent(start.block)
    return isinstance(parent, cst.If)


def returns_early(function: cst.FunctionDef) -> bool:
    """Whether a function returns elsewhere than at its end."""
    last = function.body.body[-1]
    stack: list[cst.CSTNode] = list(function.body.body)
    while stack:
        node = stack.pop()
        if isinstance(node, cst.Return):
            if not (isinstance(last, cst.SimpleStatementLine) and node in last.body):
                return True
        if not isinstance(node, (cst.FunctionDef, cst.ClassDef, cst.Lambda)):
            stack.extend(children(node))
    return False
