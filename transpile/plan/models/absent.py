"""Models that may be None where they would be wrapped, such as one that an option asks for."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.values import Constant
from transpile.facts.walk import descendants
from transpile.plan.flow.places import function_of
from transpile.plan.model import Plan
from transpile.plan.models.wraps import Wrap
from transpile.text.source import Source

NONE = Constant(None)


def world_test(plan: Plan, wrap: Wrap, world_size: str) -> str:
    """The test that a wrap stands under.

    Args:
        plan: the plan.
        wrap: the wrap.
        world_size: the call that gives the number of processes.
    """
    there = f" and {wrap.text} is not None" if may_be_none(plan, wrap) else ""
    return f"if {world_size} > 1{there}:"


def may_be_none(plan: Plan, wrap: Wrap) -> bool:
    """Whether the variable may hold None at its wrap, as far as its scope shows."""
    return not is_made_above(plan, wrap) and any(
        NONE in plan.facts.values_of(node)
        for node in mentions(wrap)
        if function_of(wrap.module, node) is wrap.function
    )


def mentions(wrap: Wrap) -> Iterator[cst.CSTNode]:
    """Where the variable is read, and what it is given."""
    source = wrap.module.source
    for node in source.nodes_of(cst.Name, cst.Attribute, cst.Assign):
        if isinstance(node, cst.Assign):
            if assigns(source, node, wrap.text):
                yield node.value
        elif source.code(node) == wrap.text:
            yield node


def is_made_above(plan: Plan, wrap: Wrap) -> bool:
    """Whether a statement in the same block, last before the wrap, gives the variable a model."""
    source = wrap.module.source
    block = source.parent(wrap.node)
    found = False
    for statement in getattr(block, "body", ()):
        if statement is wrap.before:
            break
        for node in (statement, *getattr(statement, "body", ())) if is_line(statement) else ():
            if isinstance(node, cst.Assign) and assigns(source, node, wrap.text):
                values = plan.facts.values_of(node.value)
                found = bool(values) and NONE not in values
        if not is_line(statement) and binds(source, statement, wrap.text):
            found = False
        if statement is wrap.after and wrap.before is None:
            break
    return found


def is_line(statement: cst.CSTNode) -> bool:
    """Whether a statement has no block."""
    return isinstance(statement, cst.SimpleStatementLine)


def assigns(source: Source, node: cst.Assign, text: str) -> bool:
    """Whether an assignment has a variable for its target."""
    return any(source.code(target.target) == text for target in node.targets)


def binds(source: Source, statement: cst.CSTNode, text: str) -> bool:
    """Whether a statement with a block may assign a variable somewhere."""
    return any(
        isinstance(node, cst.AssignTarget) and source.code(node.target) == text
        for node in descendants(statement)
    )
