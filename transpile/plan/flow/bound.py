"""Whether a variable is sure to be bound at a place, on whatever way the script comes there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.walk import children, descendants
from transpile.plan.flow.places import Statement, blocks_around, function_of
from transpile.text.source import Source

#: What is worked out later, or elsewhere, or only on some condition.
CONDITIONAL = (
    cst.FunctionDef,
    cst.ClassDef,
    cst.Lambda,
    cst.If,
    cst.IfExp,
    cst.BooleanOperation,
    cst.Match,
    cst.Try,
)


def is_bound_behind(module: Module, statement: Statement, text: str) -> bool:
    """Whether a variable is bound behind a statement, or read there whether it is or not.

    What is read without a condition is bound in every run that does not end there: loops are
    taken to be entered. What its own scope never binds is left to the scopes around.
    """
    source = module.source
    scope: cst.CSTNode = function_of(module, statement) or source.tree
    if not any(text in bound(source, node) for node in descendants(scope)):
        return True
    for number, block in enumerate(blocks_around(module, statement)):
        body: Sequence[cst.CSTNode] = block.body  # type: ignore[attr-defined]
        inside = [one for one in body if one is statement or contains(source, one, statement)]
        end = body.index(inside[0]) + (number == 0) if inside else len(body)
        if any(binds(source, one, text) for one in body[:end]):
            return True
        if number == 0 and any(reads(source, one, text) for one in body[end:]):
            return True
        owner = source.parent(block)
        if isinstance(owner, cst.FunctionDef) and text in parameters(owner):
            return True
        if isinstance(owner, cst.For) and text in targets(source, owner.target):
            return True
    return False


def contains(source: Source, outer: cst.CSTNode, inner: cst.CSTNode) -> bool:
    """Whether a node is a part of another one."""
    return any(each is outer for each in source.parents(inner))


def binds(source: Source, statement: cst.CSTNode, text: str) -> bool:
    """Whether a statement is sure to bind a variable, where it is left behind itself."""
    if isinstance(statement, (cst.FunctionDef, cst.ClassDef)):
        return statement.name.value == text
    if isinstance(statement, cst.With):
        return binds_in(source, statement.body, text)
    if isinstance(statement, cst.If):
        orelse = statement.orelse
        other = orelse.body if isinstance(orelse, cst.Else) else orelse
        if reads(source, statement.test, text):
            return True
        if other is None or not binds_in(source, statement.body, text):
            return False
        return binds(source, other, text) if is_test(other) else binds_in(source, other, text)
    if isinstance(statement, (cst.Try, cst.TryStar)):
        if statement.finalbody is not None and binds_in(source, statement.finalbody.body, text):
            return True
        arms = [statement.body, *(handler.body for handler in statement.handlers)]
        return all(binds_in(source, arm, text) for arm in arms)
    if isinstance(statement, (cst.SimpleStatementLine, cst.BaseSmallStatement)):
        if any(text in bound(source, node) for node in (statement, *children(statement))):
            return True
    return reads(source, statement, text)


def is_test(node: cst.CSTNode) -> bool:
    """Whether what follows an arm is an ``elif``."""
    return isinstance(node, cst.If)


def binds_in(source: Source, block: cst.CSTNode, text: str) -> bool:
    """Whether a block binds a variable, or is never left behind its last statement."""
    body = list(getattr(block, "body", ()))
    return any(binds(source, each, text) or leaves(source, each) for each in body)


def leaves(source: Source, statement: cst.CSTNode) -> bool:
    """Whether a statement ends what the block is part of."""
    if not isinstance(statement, (cst.SimpleStatementLine, cst.BaseSmallStatement)):
        return False
    return any(
        isinstance(node, (cst.Raise, cst.Return, cst.Continue, cst.Break))
        or (
            isinstance(node, cst.Expr)
            and isinstance(node.value, cst.Call)
            and source.code(node.value.func) in ("exit", "quit", "sys.exit", "os._exit")
        )
        for node in (statement, *children(statement))
    )


def bound(source: Source, node: cst.CSTNode) -> Iterator[str]:
    """The variables that a small statement binds."""
    if isinstance(node, cst.Assign):
        for target in node.targets:
            yield from targets(source, target.target)
    elif isinstance(node, cst.AnnAssign) and node.value is not None:
        yield from targets(source, node.target)
    elif isinstance(node, (cst.Import, cst.ImportFrom)) and not isinstance(
        node.names, cst.ImportStar
    ):
        for name in node.names:
            yield source.code(name.asname.name if name.asname is not None else name.name)


def targets(source: Source, target: cst.CSTNode) -> list[str]:
    """The variables of a target."""
    if isinstance(target, (cst.Tuple, cst.List)):
        return [one for each in target.elements for one in targets(source, each.value)]
    return [source.code(target)]


def parameters(function: cst.FunctionDef) -> set[str]:
    """The names of a function's parameters."""
    return {node.name.value for node in descendants(function.params) if isinstance(node, cst.Param)}


def reads(source: Source, statement: cst.CSTNode, text: str) -> bool:
    """Whether a node reads a variable where no condition is asked for it."""
    stack = [statement]
    while stack:
        node = stack.pop()
        if isinstance(node, cst.If):
            stack.append(node.test)
        elif isinstance(node, cst.Arg):
            stack.append(node.value)
        elif isinstance(node, (cst.Name, cst.Attribute)) and source.code(node) == text:
            return True
        elif isinstance(node, cst.Attribute):
            stack.append(node.value)
        elif not isinstance(node, CONDITIONAL) and not (
            isinstance(node, cst.AssignTarget) and text in targets(source, node.target)
        ):
            stack.extend(children(node))
    return False
