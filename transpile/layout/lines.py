"""Where statements stand in their lines, and what it takes to give one a line of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import libcst

from transpile.text.edit import Edit, Insert, Replace
from transpile.text.source import Source
from transpile.text.span import Span

Statement: TypeAlias = (
    libcst.BaseSmallStatement | libcst.SimpleStatementLine | libcst.BaseCompoundStatement
)
STATEMENTS = (
    libcst.BaseSmallStatement,
    libcst.SimpleStatementLine,
    libcst.BaseCompoundStatement,
)
Block: TypeAlias = libcst.SimpleStatementLine | libcst.SimpleStatementSuite


def statement_span(source: Source, statement: Statement) -> Span:
    """Where a statement stands, its decorators included.

    Raises:
        ValueError: the node is an ``elif`` clause, which is no statement of its own.
    """
    if isinstance(statement, libcst.If) and isinstance(source.parent(statement), libcst.If):
        raise ValueError("an elif clause is no statement of its own")
    span = source.span(statement)
    if isinstance(statement, libcst.FunctionDef | libcst.ClassDef) and statement.decorators:
        return Span(source.span(statement.decorators[0]).start, span.end)
    return span


def holder(source: Source, statement: Statement) -> Block | None:
    """The line or one-line suite that holds a small statement; None for other statements."""
    if not isinstance(statement, libcst.BaseSmallStatement):
        return None
    parent = source.parent(statement)
    assert isinstance(parent, libcst.SimpleStatementLine | libcst.SimpleStatementSuite)
    return parent


def statement_indentation(source: Source, statement: Statement) -> str:
    """The indentation that a statement has, or would have on a line of its own."""
    block = holder(source, statement)
    if isinstance(block, libcst.SimpleStatementSuite):
        owner = source.parent(block)
        assert owner is not None
        return source.indentation_of(source.span(owner).start) + source.indent
    return source.indentation_of(source.span(block or statement).start)


def is_first(source: Source, statement: Statement) -> bool:
    """Whether a statement begins the physical line that it stands on."""
    block = holder(source, statement)
    if block is None:
        return True
    return isinstance(block, libcst.SimpleStatementLine) and block.body[0] is statement


def is_last(source: Source, statement: Statement) -> bool:
    """Whether no other statement follows on the statement's last line."""
    block = holder(source, statement)
    return block is None or block.body[-1] is statement


def split_before(source: Source, statement: Statement) -> tuple[Edit, ...]:
    """Edits that give a statement the beginning of a line, nothing where it has it."""
    block = holder(source, statement)
    if block is None or is_first(source, statement):
        return ()
    if isinstance(block, libcst.SimpleStatementSuite):
        result = expand_suite(source, block)
        if block.body[0] is statement:
            return result
    else:
        result = ()
    index = _index(block, statement)
    start = source.span(block.body[index - 1]).end
    between = Span(start, source.span(statement).start)
    return (*result, Replace(between, source.newline + statement_indentation(source, statement)))


def split_after(source: Source, statement: Statement) -> tuple[Edit, ...]:
    """Edits that give what follows a statement in its line a line of its own."""
    block = holder(source, statement)
    if block is None or is_last(source, statement):
        return ()
    return split_before(source, block.body[_index(block, statement) + 1])


def expand_suite(source: Source, suite: libcst.SimpleStatementSuite) -> tuple[Edit, ...]:
    """Edits that put the statements behind a colon onto a line of their own."""
    first = suite.body[0]
    start = source.span(first).start
    text = source.text
    colon = start
    while text[colon - 1] != ":":
        colon -= 1
    opening = source.newline + statement_indentation(source, first)
    if colon == start:
        return (Insert(start, opening, order=-1000),)
    return (Replace(Span(colon, start), opening),)


def in_file_style(source: Source, lines: Sequence[str], indentation: str) -> list[str]:
    """Lines in steps of four spaces, in the file's own indentation below `indentation`."""
    result = []
    for line in "\n".join(lines).split("\n"):
        bare = line.lstrip(" ")
        levels, rest = divmod(len(line) - len(bare), 4)
        result.append(indentation + source.indent * levels + " " * rest + bare if bare else "")
    return result


def _index(block: Block, statement: Statement) -> int:
    return next(index for index, candidate in enumerate(block.body) if candidate is statement)
