"""Edits that add whole statements to a script or take them away."""

from __future__ import annotations

import re
from collections.abc import Sequence

import libcst

from transpile.layout.lines import (
    STATEMENTS,
    Statement,
    expand_suite,
    holder,
    in_file_style,
    is_first,
    is_last,
    split_after,
    split_before,
    statement_indentation,
    statement_span,
)
from transpile.text.edit import Edit, Insert, Replace
from transpile.text.source import Source
from transpile.text.span import Span

_COMMENT_LINE = re.compile(r"([ \t]*)#[^\n]*(?:\n|\Z)")
_BLANK_LINE = re.compile(r"[ \t\f\r]*\n")


def insert_before(
    source: Source, statement: Statement, lines: Sequence[str], order: int = 0
) -> tuple[Edit, ...]:
    """Put lines in front of a statement, above the comment block that touches it.

    Args:
        source: the script.
        statement: a compound statement, a line, or one of the small statements of a line, which is
            split then.
        lines: the new lines.
        order: rank among the lines that are put there; smaller comes first.
    """
    span = statement_span(source, statement)
    indentation = statement_indentation(source, statement)
    new = in_file_style(source, lines, indentation)
    newline = source.newline
    if _shares_line_with_earlier(source, statement):
        text = newline.join(new).removeprefix(indentation) + newline + indentation
        edit = Insert(span.start, text, order, "before", span)
        return (*split_before(source, statement), edit)
    offset = _above_comments(source, source.line_start(span.start), indentation)
    return (Insert(offset, newline.join(new) + newline, order, "before", span),)


def decorate(
    source: Source, function: libcst.FunctionDef, lines: Sequence[str]
) -> tuple[Edit, ...]:
    """Give a function that has no decorator one, below the comments on it.

    Args:
        source: the script.
        function: its definition.
        lines: the decorator.
    """
    span = statement_span(source, function)
    new = in_file_style(source, lines, statement_indentation(source, function))
    text = source.newline.join(new) + source.newline
    return (Insert(source.line_start(span.start), text, 0, "before", span),)


def insert_after(
    source: Source, statement: Statement, lines: Sequence[str], order: int = 0
) -> tuple[Edit, ...]:
    """Put lines behind a statement, at its indentation.

    Args:
        source: the script.
        statement: a compound statement, a line, or one of the small statements of a line, which is
            split then.
        lines: the new lines.
        order: rank among the lines that are put there; smaller comes first.
    """
    span = statement_span(source, statement)
    indentation = statement_indentation(source, statement)
    new = in_file_style(source, lines, indentation)
    newline = source.newline
    if not is_last(source, statement):
        text = newline + newline.join(new)
        edit = Insert(span.end, text, order, "after", span)
        return (*split_after(source, statement), edit)
    offset = end_of_statement(source, statement)
    if offset == len(source.text) and not source.text.endswith("\n"):
        text = newline + newline.join(new)
    else:
        text = newline.join(new) + newline
    edit = Insert(offset, text, order, "after", span)
    block = holder(source, statement)
    if isinstance(block, libcst.SimpleStatementSuite):
        return (*expand_suite(source, block), edit)
    return (edit,)


def insert_at_start_of_body(
    source: Source, owner: libcst.CSTNode, lines: Sequence[str], order: int = 0
) -> tuple[Edit, ...]:
    """Put lines at the top of a block, behind a docstring.

    Args:
        source: the script.
        owner: what has the block as its body: a function, loop, ``with``, ``if``, ``else`` ...
        lines: the new lines.
        order: rank among the lines that are put there; smaller comes first.
    """
    statements = body_statements(owner)
    first = statements[0]
    if isinstance(owner, libcst.FunctionDef | libcst.ClassDef) and is_docstring(first):
        return insert_after(source, first, lines, order)
    return insert_before(source, first, lines, order)


def append_to_body(
    source: Source, owner: libcst.CSTNode, lines: Sequence[str], order: int = 0
) -> tuple[Edit, ...]:
    """Put lines at the end of a block.

    Args:
        source: the script.
        owner: what has the block as its body: a function, loop, ``with``, ``if``, ``else`` ...
        lines: the new lines.
        order: rank among the lines that are put there; smaller comes first.
    """
    return insert_after(source, body_statements(owner)[-1], lines, order)


def replace_statement(
    source: Source, statement: Statement, lines: Sequence[str]
) -> tuple[Edit, ...]:
    """Put other lines in the place of a statement; comments around it stay.

    Args:
        source: the script.
        statement: the statement.
        lines: the new lines, at least one.
    """
    indentation = statement_indentation(source, statement)
    new = source.newline.join(in_file_style(source, lines, indentation))
    edit = Replace(statement_span(source, statement), new.removeprefix(indentation))
    if len(lines) == 1 and "\n" not in lines[0]:
        return (edit,)
    return (*split_before(source, statement), *split_after(source, statement), edit)


def remove_statement(source: Source, statement: Statement) -> tuple[Edit, ...]:
    """Remove a statement with its line; a block that would be empty keeps ``pass``.

    Args:
        source: the script.
        statement: the statement. To remove several of one block use `remove_statements`.
    """
    return remove_statements(source, [statement])


def remove_statements(source: Source, statements: Sequence[Statement]) -> tuple[Edit, ...]:
    """Remove statements with their lines; a block that would be empty keeps ``pass``.

    Args:
        source: the script.
        statements: all statements that are to go.
    """
    gone: set[libcst.CSTNode] = set()
    for statement in statements:
        gone.add(statement)
        if isinstance(statement, libcst.SimpleStatementLine):
            gone.update(statement.body)
    emptied = _emptied_blocks(source, gone)
    edits: dict[Edit, None] = {}
    for statement in statements:
        if isinstance(statement, libcst.SimpleStatementLine):
            for small in statement.body:
                edits.update(dict.fromkeys(_removal(source, small, gone, emptied)))
        else:
            edits.update(dict.fromkeys(_removal(source, statement, gone, emptied)))
    return tuple(edits)


def body_statements(owner: libcst.CSTNode) -> list[Statement]:
    """The statements of a node's body, those of a one-line suite included.

    Raises:
        TypeError: the node has no block of statements.
    """
    if isinstance(owner, libcst.Module):
        return list(owner.body)
    body = getattr(owner, "body", None)
    if not isinstance(body, libcst.BaseSuite):
        raise TypeError(f"{type(owner).__name__} has no block")
    return [statement for statement in body.body if isinstance(statement, STATEMENTS)]


def is_docstring(statement: Statement) -> bool:
    """Whether a statement, the first of its block, is a docstring."""
    small = statement
    if isinstance(statement, libcst.SimpleStatementLine):
        small = statement.body[0]
    return isinstance(small, libcst.Expr) and isinstance(
        small.value, libcst.SimpleString | libcst.ConcatenatedString
    )


def end_of_statement(source: Source, statement: Statement) -> int:
    """Offset of the line behind a statement and the comments that end its own block."""
    offset = source.next_line_start(statement_span(source, statement).end)
    if not isinstance(statement, libcst.BaseCompoundStatement):
        return offset
    indentation = statement_indentation(source, statement)
    position = offset
    while position < len(source.text):
        blank = _BLANK_LINE.match(source.text, position)
        if blank is not None:
            position = blank.end()
            continue
        comment = _COMMENT_LINE.match(source.text, position)
        if comment is None or not _is_deeper(comment.group(1), indentation):
            break
        position = offset = comment.end()
    return offset


def _is_deeper(indentation: str, than: str) -> bool:
    return len(indentation) > len(than) and indentation.startswith(than)


def _shares_line_with_earlier(source: Source, statement: Statement) -> bool:
    return holder(source, statement) is not None and not is_first(source, statement)


def _above_comments(source: Source, start: int, indentation: str) -> int:
    """Start of the comment block that touches the line at `start`.

    Comments at the very top of a file speak of the file, not of its first statement.
    """
    text = source.text
    top = start
    while top > 0:
        above = source.line_start(top - 1)
        comment = _COMMENT_LINE.match(text, above)
        if comment is None or comment.group(1) != indentation:
            return top
        top = above
    return start


def _emptied_blocks(source: Source, gone: set[libcst.CSTNode]) -> dict[libcst.CSTNode, None]:
    """The statements in whose place ``pass`` must be put: the first of each emptied block."""
    keepers: dict[libcst.CSTNode, None] = {}
    for node in gone:
        block = source.parent(node)
        if isinstance(block, libcst.SimpleStatementLine):
            block = source.parent(block)
        if block is None or isinstance(block, libcst.Module):
            continue
        statements: list[libcst.CSTNode] = []
        for statement in getattr(block, "body", ()):
            if isinstance(statement, libcst.SimpleStatementLine):
                statements += statement.body
            else:
                statements.append(statement)
        if all(statement in gone for statement in statements):
            keepers[statements[0]] = None
    return keepers


def _removal(
    source: Source,
    statement: Statement,
    gone: set[libcst.CSTNode],
    emptied: dict[libcst.CSTNode, None],
) -> tuple[Edit, ...]:
    span = statement_span(source, statement)
    if statement in emptied:
        return (Replace(span, "pass"),)
    block = holder(source, statement)
    if block is None:
        start = source.line_start(span.start)
        return (Replace(Span(start, source.next_line_start(span.end)), ""),)
    smalls = block.body
    whole_line = all(small in gone for small in smalls) and smalls[0] not in emptied
    if whole_line and isinstance(block, libcst.SimpleStatementLine):
        start = source.line_start(source.span(block).start)
        return (Replace(Span(start, source.next_line_start(source.span(block).end)), ""),)
    index = next(position for position, small in enumerate(smalls) if small is statement)
    kept_before = any(small not in gone or small in emptied for small in smalls[:index])
    if kept_before:
        return (Replace(Span(source.span(smalls[index - 1]).end, span.end), ""),)
    return (Replace(Span(span.start, source.span(smalls[index + 1]).start), ""),)
