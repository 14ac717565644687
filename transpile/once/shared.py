"""What the rules about effects share, whatever the framework."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.walk import children
from transpile.layout import wrap_expression
from transpile.plan.effects.effects import Effect
from transpile.plan.effects.treatment import Once, Preparation, Run, Statement, statements_of
from transpile.plan.model import Plan
from transpile.result import Verdict
from transpile.rule import Change, Helper, In, Rulings
from transpile.text.changes import Insert
from transpile.text.edit import Edit
from transpile.text.source import Source
from transpile.text.span import Span


def once_of(plan: Plan) -> Once:
    """What is decided about the effects of a script, which the framework's rules have found."""
    assert plan.once is not None
    return plan.once


def main_process(plan: Plan, module: Module) -> str:
    """The call that tells whether this process is the one that has effects."""
    return f"{plan.names_in(module).fresh('is_main_process')}()"


def argument_of(effect: Effect, keywords: tuple[str, ...], position: int) -> cst.Arg | None:
    """The argument of a call as it is written; None where it is absent or unpacked."""
    for argument in effect.node.args:
        if argument.keyword is not None and argument.keyword.value in keywords:
            return argument
    for index, argument in enumerate(effect.node.args):
        if argument.star or argument.keyword is not None:
            return None
        if index == position:
            return argument
    return None


def only_here(plan: Plan, module: Module, node: cst.BaseExpression, other: str) -> Iterator[Change]:
    """Make an expression that of the main process, and `other` on all others.

    The expression stays where it is, so that edits inside it still apply.
    """
    yield Helper("is_main_process", module)
    before, after = ("", "")
    if isinstance(node, (cst.IfExp, cst.Lambda, cst.NamedExpr)) and not node.lpar:
        before, after = "(", ")"
    elsewhere = f" if {main_process(plan, module)} else {other}"
    if binds_tighter(module, node):
        before, elsewhere = f"({before}", f"{elsewhere})"
    for edit in surround(module, node, before, after + elsewhere):
        yield In(module, edit)


def binds_tighter(module: Module, node: cst.CSTNode) -> bool:
    """Whether a conditional expression in the place of `node` would need parentheses."""
    if getattr(node, "lpar", ()):
        return False
    parent = module.source.parent(node)
    return isinstance(
        parent,
        (cst.Attribute, cst.Subscript, cst.BinaryOperation, cst.BooleanOperation, cst.Comparison,
         cst.ComparisonTarget, cst.UnaryOperation, cst.IfExp, cst.Call, cst.Await),
    )  # fmt: skip


def surround(
    module: Module, node: cst.BaseExpression, before: str, after: str, order: int = 0
) -> tuple[Edit, ...]:
    """Put text on both sides of an expression, either of which may be empty."""
    if before:
        return wrap_expression(module.source, node, before, after, order)
    span = module.source.span(node)
    return (Insert(span.end, after, order, "close", Span(span.start, span.end)),)


def agreed_on(rulings: Rulings) -> list[cst.CSTNode]:
    """The expressions that all processes will evaluate together."""
    return [
        getattr(ruling.data, "node", ruling.node)
        for rule in ("agree-on-decisions", "agree-on-order", "agree-on-splits")
        for ruling in rulings.of(rule, Verdict.APPLY)
        if getattr(ruling.data, "way", "") != "sorted"
    ]


def parts(
    place: Run | Preparation, statements: list[Statement], together: list[cst.CSTNode]
) -> Iterator[list[Statement]]:
    """The statements in groups that hold nothing that all processes evaluate together.

    A small statement that does stands alone if it is a call, whose arguments can be bound first.
    """
    source = place.module.source
    part: list[Statement] = []
    for statement in statements:
        if not any(holds(source, statement, node) for node in together):
            part.append(statement)
            continue
        if part:
            yield part
            part = []
        if isinstance(statement, cst.Expr) and isinstance(place, Run):
            yield [statement]
        for block in blocks_of(statement):
            yield from parts(place, statements_of(block), together)
    if part:
        yield part


def holds(source: Source, statement: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether a node of the script is part of a statement."""
    return source.has(node) and statement in source.parents(node)


def blocks_of(statement: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The blocks of a compound statement, those of its ``elif`` and ``else``, too."""
    for child in children(statement):
        if isinstance(child, (cst.IndentedBlock, cst.SimpleStatementSuite)):
            yield child
        elif isinstance(child, (cst.Else, cst.If, cst.ExceptHandler, cst.Finally)):
            yield from blocks_of(child)
