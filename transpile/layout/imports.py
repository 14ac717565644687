"""Edits that add imports, and helpers behind them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst

from transpile.edit import Edit, Insert
from transpile.layout.lines import Statement, in_file_style
from transpile.layout.statements import end_of_statement, insert_after, insert_before
from transpile.source import Source

_BLOCK_ORDER = 1000


def insert_import(source: Source, lines: Sequence[str], order: int = 0) -> tuple[Edit, ...]:
    """Add imports at the end of the leading import section, but none that is there already.

    An import of the same top-level package draws the new one next to it.

    Args:
        source: the script.
        lines: import statements.
        order: rank among the imports that are added there; smaller comes first.
    """
    known = {binding for line in _top_level_imports(source) for binding in _bindings(line)}
    edits: list[Edit] = []
    for line in lines:
        wanted = set(_bindings(libcst.parse_statement(line)))
        if wanted and wanted <= known:
            continue
        place = _last_import(source, {binding[0].partition(".")[0] for binding in wanted})
        edits += _insert_at(source, place, [line], order)
    return tuple(edits)


def insert_after_imports(source: Source, block: str, order: int = 0) -> tuple[Edit, ...]:
    """Put helper functions behind the leading import section, two blank lines around them.

    Args:
        source: the script.
        block: definitions, without blank lines at either end.
        order: rank among the blocks that are put there; smaller comes first.
    """
    place = _last_import(source, set())
    newline = source.newline
    text = newline.join(in_file_style(source, block.strip("\n").split("\n"), "")) + newline
    if place is None:
        first = next(iter(source.tree.body), None)
        if first is None:
            return (Insert(len(source.text), text, _BLOCK_ORDER + order),)
        lines = block.strip("\n").split("\n")
        return insert_before(source, first, [*lines, "", ""], _BLOCK_ORDER + order)
    offset = end_of_statement(source, place)
    anchor = source.span(place)
    if offset == len(source.text):
        if not source.text.endswith("\n"):
            text = newline + text.removesuffix(newline)
        text = newline * 2 + text
        return (Insert(offset, text, _BLOCK_ORDER + order, "after", anchor),)
    filler = newline * max(0, 2 - _blank_lines(source, offset))
    edits: list[Edit] = [Insert(offset, newline * 2 + text, _BLOCK_ORDER + order, "after", anchor)]
    if filler and source.text[offset:].strip():
        edits.append(Insert(offset, filler, _BLOCK_ORDER * 1000, "after", anchor))
    return tuple(edits)


def _insert_at(
    source: Source, place: Statement | None, lines: Sequence[str], order: int
) -> tuple[Edit, ...]:
    if place is not None:
        return insert_after(source, place, lines, order)
    first = next(iter(source.tree.body), None)
    if first is None:
        text = source.newline.join(lines) + source.newline
        return (Insert(len(source.text), text, order),)
    return insert_before(source, first, [*lines, ""], order)


def _last_import(source: Source, packages: set[str]) -> Statement | None:
    """The statement behind which an import goes; None where there is no import to follow.

    Args:
        source: the script.
        packages: top-level packages whose own last import is preferred.
    """
    last: Statement | None = None
    related: Statement | None = None
    for statement in _section(source):
        bindings = list(_bindings(statement))
        if bindings or isinstance(statement, libcst.BaseCompoundStatement):
            last = statement
        elif not _is_docstring(statement):
            continue
        else:
            last = statement
        if any(binding[0].partition(".")[0] in packages for binding in bindings):
            related = statement
    return related or last


def _section(source: Source) -> Iterator[Statement]:
    """The statements of the leading import section, a docstring included.

    Calls and item assignments between imports (``sys.path.append``, ``os.environ[...] = ...``)
    belong to it where another import follows.
    """
    waiting: list[Statement] = []
    for index, statement in enumerate(source.tree.body):
        if (index == 0 and _is_docstring(statement)) or _is_import_statement(statement):
            yield from waiting
            waiting = []
            yield statement
        elif isinstance(statement, libcst.SimpleStatementLine) and all(
            _may_stand_between(small) for small in statement.body
        ):
            waiting.append(statement)
        else:
            return


def _is_import_statement(statement: Statement | libcst.BaseSmallStatement) -> bool:
    """Whether a statement imports, or is an ``if`` or ``try`` that does nothing else."""
    if isinstance(statement, libcst.SimpleStatementLine):
        return any(isinstance(small, libcst.Import | libcst.ImportFrom) for small in statement.body)
    if isinstance(statement, libcst.If | libcst.Try):
        inner = list(_small_statements(statement))
        return any(isinstance(small, libcst.Import | libcst.ImportFrom) for small in inner) and all(
            not isinstance(small, libcst.Expr | libcst.Return) or _may_stand_between(small)
            for small in inner
        )
    return False


def _may_stand_between(small: libcst.BaseSmallStatement) -> bool:
    if isinstance(small, libcst.Expr):
        return isinstance(small.value, libcst.Call | libcst.BaseString)
    if isinstance(small, libcst.Assign):
        return all(
            isinstance(target.target, libcst.Subscript | libcst.Attribute)
            for target in small.targets
        )
    return False


def _small_statements(node: libcst.CSTNode) -> Iterator[libcst.BaseSmallStatement]:
    for child in node.children:
        if isinstance(child, libcst.BaseSmallStatement):
            yield child
        elif not isinstance(child, libcst.BaseExpression):
            yield from _small_statements(child)


def _top_level_imports(source: Source) -> Iterator[libcst.CSTNode]:
    return (line for line in _section(source) if isinstance(line, libcst.SimpleStatementLine))


def _bindings(node: libcst.CSTNode) -> Iterator[tuple[str, str, str]]:
    """Module, imported name (empty for a module) and bound name of every import in a line."""
    smalls = node.body if isinstance(node, libcst.SimpleStatementLine) else ()
    for small in smalls:
        if isinstance(small, libcst.Import):
            for alias in small.names:
                yield (alias.evaluated_name, "", alias.evaluated_alias or alias.evaluated_name)
        elif isinstance(small, libcst.ImportFrom) and not isinstance(
            small.names, libcst.ImportStar
        ):
            module = "." * len(small.relative) + _dotted(small.module)
            for alias in small.names:
                yield (module, alias.evaluated_name, alias.evaluated_alias or alias.evaluated_name)


def _dotted(node: libcst.BaseExpression | None) -> str:
    if isinstance(node, libcst.Attribute):
        return f"{_dotted(node.value)}.{node.attr.value}"
    return node.value if isinstance(node, libcst.Name) else ""


def _is_docstring(statement: Statement) -> bool:
    if not isinstance(statement, libcst.SimpleStatementLine):
        return False
    small = statement.body[0]
    return isinstance(small, libcst.Expr) and isinstance(small.value, libcst.BaseString)


def _blank_lines(source: Source, offset: int) -> int:
    count = 0
    for line in source.text[offset:].split("\n"):
        if line.strip():
            break
        count += 1
    return count
