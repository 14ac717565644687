"""Places in the text: statements, blocks, and which part of a scope something happens in."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Call, Event, Stack
from transpile.facts.module import Module
from transpile.facts.walk import descendants

#: A line, a compound statement, or one of the statements of a line or of a suite on one.
Statement = cst.BaseSmallStatement | cst.SimpleStatementLine | cst.BaseCompoundStatement
STATEMENTS = (cst.SimpleStatementLine, cst.BaseCompoundStatement)
SMALL = (cst.BaseSmallStatement,)
SUITES = (cst.IndentedBlock, cst.SimpleStatementSuite)


def calls_of(stack: Stack) -> tuple[Call, ...]:
    """The project calls in a stack, outermost first."""
    return tuple(frame for frame in stack if isinstance(frame, Call))


def site_at(event: Event, depth: int) -> cst.CSTNode | None:
    """The node of the scope at `depth` project calls in which an event happens.

    Depth 0 is the module's own code. None where the event is not below that depth, or was not
    reached by calls that stand in the text.
    """
    calls = calls_of(event.stack)
    if len(calls) < depth:
        return None
    return calls[depth].node if len(calls) > depth else event.node


def statement_of(
    module: Module, node: cst.CSTNode
) -> cst.SimpleStatementLine | cst.BaseCompoundStatement | None:
    """The innermost statement (a line or a compound statement) that a node is part of."""
    return next((found for found in ancestors(module, node) if isinstance(found, STATEMENTS)), None)


def insertion_place(module: Module, node: cst.CSTNode) -> Statement | None:
    """The statement before or behind which to put what a node needs.

    Of a line with several statements it is the node's own: the ones before it may make what the
    new lines read. So it is of a suite on the line of its header, which may be passed over. What
    an ``elif`` asks is worked out within the statement that begins with ``if``.
    """
    inner: cst.CSTNode | None = None
    for found in ancestors(module, node):
        if isinstance(found, cst.SimpleStatementSuite) and isinstance(inner, SMALL):
            return inner
        if isinstance(found, cst.SimpleStatementLine):
            return inner if len(found.body) > 1 and isinstance(inner, SMALL) else found
        if isinstance(found, cst.BaseCompoundStatement) and not is_elif(module, found):
            return found
        inner = found
    return None


def is_elif(module: Module, node: cst.CSTNode) -> bool:
    """Whether a node is an ``elif`` clause, which is no statement of its own."""
    return isinstance(node, cst.If) and isinstance(module.source.parent(node), cst.If)


def ancestors(module: Module, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The node and everything around it, inside out."""
    current: cst.CSTNode | None = node
    around = module.source.places.around
    while current is not None:
        yield current
        current = around.get(id(current))


def blocks_around(module: Module, node: cst.CSTNode) -> list[cst.CSTNode]:
    """The blocks around a node within its own function, innermost first.

    A suite on the line of its header is one, and so is a line with several statements.
    """
    found: list[cst.CSTNode] = []
    for ancestor in ancestors(module, node):
        several = isinstance(ancestor, cst.SimpleStatementLine) and len(ancestor.body) > 1
        if several or isinstance(ancestor, (*SUITES, cst.Module)):
            found.append(ancestor)
            owner = module.source.places.around.get(id(ancestor))
            if isinstance(owner, (cst.FunctionDef, cst.ClassDef)):
                break
    return found


def statement_in(module: Module, block: cst.CSTNode, node: cst.CSTNode) -> Statement | None:
    """The statement directly in `block` that a node is part of; None where it is elsewhere."""
    previous: cst.CSTNode | None = None
    for ancestor in ancestors(module, node):
        if ancestor is block:
            return previous if isinstance(previous, (*STATEMENTS, *SMALL)) else None
        previous = ancestor
    return None


def function_of(module: Module, node: cst.CSTNode) -> cst.FunctionDef | None:
    """The innermost function that a node is part of."""
    for ancestor in ancestors(module, node):
        if isinstance(ancestor, cst.FunctionDef) and ancestor is not node:
            return ancestor
    return None


def spelled_out(module: Module, test: cst.BaseExpression) -> cst.BaseExpression:
    """What a test asks: for a name that was given its value above in the same block, that value."""
    statement = statement_of(module, test)
    block = module.source.parent(statement) if statement is not None else None
    if not isinstance(test, cst.Name) or not isinstance(block, (cst.IndentedBlock, cst.Module)):
        return test
    assert statement is not None
    for above in reversed(block.body[: index_in(block, statement)]):
        line = above.body if isinstance(above, cst.SimpleStatementLine) else ()
        if len(line) == 1 and isinstance(line[0], cst.Assign) and len(line[0].targets) == 1:
            target = line[0].targets[0].target
            if isinstance(target, cst.Name) and target.value == test.value:
                return line[0].value
        if any(_binds(node, test.value) for node in (above, *descendants(above))):
            break
    return test


def _binds(node: cst.CSTNode, name: str) -> bool:
    """Whether a node gives a name another value, or may."""
    if isinstance(node, (cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.For, cst.NamedExpr)):
        targets: tuple[cst.CSTNode, ...] = (node.target,)
    elif isinstance(node, (cst.AsName, cst.FunctionDef, cst.ClassDef)):
        targets = (node.name,)
    elif isinstance(node, (cst.Import, cst.ImportFrom, cst.Del, cst.Global, cst.Nonlocal)):
        targets = (node,)
    else:
        return False
    return any(
        isinstance(found, cst.Name) and found.value == name
        for target in targets
        for found in (target, *descendants(target))
    )


def index_in(block: cst.CSTNode, statement: cst.CSTNode) -> int:
    """The position of a statement in its block."""
    for position, other in enumerate(block.body):  # type: ignore[attr-defined]
        if other is statement:
            return position
    raise ValueError("the statement is not in this block")


def start(module: Module, node: cst.CSTNode) -> int:
    """The offset at which a node begins."""
    return module.source.span(node).start
