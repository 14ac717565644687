"""Edits that add imports, and helpers behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import libcst

from transpile.layout.lines import Statement, in_file_style
from transpile.layout.statements import end_of_statement, insert_after, insert_before, is_docstring
from transpile.records import dataclass
from transpile.text.edit import Edit, Insert
from transpile.text.source import Source

_BLOCK_ORDER = 1000
_LAST = 1_000_000
_STANDARD_LIBRARY_NAMES = """
abc argparse ast asyncio base64 bisect builtins calendar collections concurrent configparser
contextlib copy csv ctypes datetime decimal difflib enum errno fnmatch fractions functools gc
getpass glob gzip hashlib heapq html http importlib inspect io itertools json logging math
multiprocessing numbers operator os pathlib pdb pickle pipes platform pprint queue random re
resource shutil signal socket sqlite3 ssl statistics string struct subprocess sys tarfile tempfile
textwrap threading time timeit traceback types typing unicodedata unittest urllib uuid warnings
weakref xml zipfile zlib
"""
# Not sys.stdlib_module_names: the same script must give the same output on every Python.
_STANDARD_LIBRARY = frozenset(_STANDARD_LIBRARY_NAMES.split())


@dataclass(frozen=True)
class _Binding:
    """What one clause of an import statement binds.

    Args:
        module: the module, relative ones with their dots.
        name: what is taken from it; empty for the module itself.
        bound: the name that it is bound to.
    """

    module: str
    name: str
    bound: str

    @property
    def group(self) -> tuple[bool, str]:
        """What it is listed with: its kind of statement, and its top-level package.

        All of the standard library counts as one package, and so does what is imported relatively.
        """
        package = self.module.partition(".")[0] or "."
        return bool(self.name), "" if package in _STANDARD_LIBRARY else package


def insert_import(
    source: Source, lines: Sequence[str], order: int = 0, near: frozenset[str] = frozenset()
) -> tuple[Edit, ...]:
    """Add imports to the leading import section, but none that is there already.

    An import goes where a reader looks for it: into the alphabetical order of its package's
    imports, behind them where they have none, at the end of the section where it is the first of
    its package; the standard library comes first.

    Args:
        source: the script.
        lines: import statements; several from one module stand together, a line each.
        order: rank among the imports that are added at one place; smaller comes first.
        near: the top-level packages of the script's own project, ``.`` for relative imports, where
            the lines import from it: they stand together, apart from other people's.
    """
    section = list(_section(source))
    known = {binding for statement in section for binding in _bindings(statement)}
    edits: list[Edit] = []
    for line in lines:
        wanted = [each for one in libcst.parse_module(line).body for each in _bindings(one)]
        if not wanted or not known.issuperset(wanted):
            edits += _insertion(source, section, line, wanted[0] if wanted else None, order, near)
    return tuple(edits)


def last_import(source: Source) -> Statement | None:
    """The last statement of the leading import section, behind which helper functions are put."""
    return next(reversed(list(_section(source))), None)


def insert_after_imports(
    source: Source, block: str, order: int = 0, used: Iterable[int] = ()
) -> tuple[Edit, ...]:
    """Put helper functions behind the leading import section, two blank lines around them.

    Args:
        source: the script.
        block: definitions, without blank lines at either end.
        order: rank among the blocks that are put there; smaller comes first.
        used: where the script will use them: a ``try`` around imports may do so.
    """
    order += _BLOCK_ORDER
    newline = source.newline
    lines = block.strip("\n").split("\n")
    text = newline.join(in_file_style(source, lines, "")) + newline
    section = list(_section(source))
    for number, statement in enumerate(section):
        span = source.span(statement)
        if any(span.start <= offset < span.end for offset in used):
            if not number:
                return insert_before(source, statement, [*lines, "", ""], order)
            del section[number:]
            break
    place = section[-1] if section else None
    if place is None:
        if not source.tree.body:
            return (Insert(len(source.text), text, order),)
        return insert_before(source, source.tree.body[0], [*lines, "", ""], order)
    offset = end_of_statement(source, place)
    anchor = source.span(place)
    following = source.text[offset:]
    if not following.strip():
        if offset and not source.text.endswith("\n"):
            text = newline + text.removesuffix(newline)
        return (Insert(offset, newline * 2 + text, order, "after", anchor),)
    edits: list[Edit] = [Insert(offset, newline * 2 + text, order, "after", anchor)]
    blank = len(following[: len(following) - len(following.lstrip())].split("\n")) - 1
    if blank < 2:
        edits.append(Insert(offset, newline * (2 - blank), _LAST, "after", anchor))
    return tuple(edits)


def leading_names(source: Source) -> frozenset[str]:
    """The names that the leading import section binds: those that helpers behind it can use."""
    found: set[str] = set()
    for statement in _section(source):
        for line in (statement, *_inner_statements(statement)):
            found.update(binding.bound.partition(".")[0] for binding in _bindings(line))
    return frozenset(found)


def _insertion(
    source: Source,
    section: list[Statement],
    line: str,
    wanted: _Binding | None,
    order: int,
    near: frozenset[str],
) -> tuple[Edit, ...]:
    """The edits that add one import."""
    imports = [
        (binding, statement)
        for statement in section
        for binding in list(_bindings(statement))[:1]
        if binding.module != "__future__"
    ]
    order = 2 * order + (wanted is not None and bool(wanted.name))
    lines = line.split("\n")
    if wanted is not None:
        group = [
            pair for pair in imports if pair[0].group == wanted.group or pair[0].group[1] in near
        ]
        if group:
            names = [binding.module for binding, _ in group]
            if names != sorted(names):
                return insert_after(source, group[-1][1], lines, order)
            smaller = [statement for binding, statement in group if binding.module <= wanted.module]
            if smaller:
                return insert_after(source, smaller[-1], lines, order)
            return insert_before(source, group[0][1], lines, order)
        package = wanted.group[1]
        related = [statement for binding, statement in imports if binding.group[1] == package]
        if related:
            return insert_after(source, related[-1], lines, order)
        if near and section:
            lines = ["", *lines]
        if not package and imports:
            return _with_blank_line(source, imports[0][1], insert_before, lines, order)
    if not section:
        if not source.tree.body:
            return (Insert(len(source.text), line + source.newline, order),)
        return _with_blank_line(source, source.tree.body[0], insert_before, lines, order)
    if is_docstring(section[-1]):
        return _with_blank_line(source, section[-1], insert_after, lines, order)
    return insert_after(source, section[-1], lines, order)


def _with_blank_line(
    source: Source,
    place: Statement,
    insert: Callable[[Source, Statement, Sequence[str], int], tuple[Edit, ...]],
    lines: Sequence[str],
    order: int,
) -> tuple[Edit, ...]:
    """Insert lines, and between them and the place one blank line for all insertions there.

    In front of a definition there are two.
    """
    blank_order = -_LAST if insert is insert_after else _LAST
    blank = [""]
    if insert is insert_before and isinstance(place, libcst.FunctionDef | libcst.ClassDef):
        blank = ["", ""]
    return (*insert(source, place, blank, blank_order), *insert(source, place, lines, order))


def _section(source: Source) -> Iterator[Statement]:
    """The statements of the leading import section, a docstring included.

    Calls and item assignments between imports (``sys.path.append``, ``os.environ[...] = ...``)
    belong to the section but are not listed; neither is what stands above the first import, such
    as the first cell of a notebook.
    """
    begun = False
    for index, statement in enumerate(source.tree.body):
        if index == 0 and is_docstring(statement):
            yield statement
        elif _imports(statement):
            begun = True
            yield statement
        elif not begun and _is_plain(statement):
            continue
        elif not isinstance(statement, libcst.SimpleStatementLine) or not all(
            _may_stand_between(small) for small in statement.body
        ):
            return


def _imports(statement: Statement) -> bool:
    """Whether a statement imports, or is an ``if`` or ``try`` that does hardly anything else."""
    if isinstance(statement, libcst.SimpleStatementLine):
        return any(isinstance(small, libcst.Import | libcst.ImportFrom) for small in statement.body)
    if isinstance(statement, libcst.If | libcst.Try):
        inner = list(_inner_statements(statement))
        return any(_imports(small) for small in inner) and not any(
            isinstance(small, libcst.For | libcst.While | libcst.With) for small in inner
        )
    return False


def _is_plain(statement: Statement) -> bool:
    """Whether a statement, or an ``if`` or ``try``, does no more than call or name constants."""
    if isinstance(statement, libcst.SimpleStatementLine):
        return all(
            _may_stand_between(small) or isinstance(small, libcst.Pass) or _names_constant(small)
            for small in statement.body
        )
    return (
        isinstance(statement, libcst.If | libcst.Try)
        and not _is_main_guard(statement)
        and all(_is_plain(inner) for inner in _inner_statements(statement))
    )


def _names_constant(small: libcst.BaseSmallStatement) -> bool:
    if not isinstance(small, libcst.Assign):
        return False
    pending: list[libcst.CSTNode] = [small.value]
    while pending:
        node = pending.pop()
        if isinstance(node, libcst.Name) and node.value not in {"True", "False", "None"}:
            return False
        pending.extend(node.children)
    return True


def _is_main_guard(statement: Statement) -> bool:
    return isinstance(statement, libcst.If) and any(
        isinstance(name, libcst.Name) and name.value == "__name__"
        for name in statement.test.children
    )


def _inner_statements(node: libcst.CSTNode) -> Iterator[Statement]:
    """The lines and compound statements inside a statement, at any depth."""
    for child in node.children:
        if isinstance(child, libcst.SimpleStatementLine | libcst.BaseCompoundStatement):
            yield child
        if not isinstance(child, libcst.BaseExpression):
            yield from _inner_statements(child)


def _may_stand_between(small: libcst.BaseSmallStatement) -> bool:
    if isinstance(small, libcst.Expr):
        return isinstance(small.value, libcst.Call | libcst.BaseString)
    if isinstance(small, libcst.Assign):
        return all(
            isinstance(target.target, libcst.Subscript | libcst.Attribute)
            for target in small.targets
        )
    return False


def _bindings(statement: libcst.CSTNode) -> Iterator[_Binding]:
    """What the imports of one line bind."""
    smalls = statement.body if isinstance(statement, libcst.SimpleStatementLine) else ()
    for small in smalls:
        if isinstance(small, libcst.Import):
            for alias in small.names:
                module = alias.evaluated_name
                yield _Binding(module, "", alias.evaluated_alias or module)
        elif isinstance(small, libcst.ImportFrom):
            module = "." * len(small.relative) + _dotted(small.module)
            if isinstance(small.names, libcst.ImportStar):
                yield _Binding(module, "*", "*")
                continue
            for alias in small.names:
                name = alias.evaluated_name
                yield _Binding(module, name, alias.evaluated_alias or name)


def _dotted(node: libcst.BaseExpression | None) -> str:
    if isinstance(node, libcst.Attribute):
        return f"{_dotted(node.value)}.{node.attr.value}"
    return node.value if isinstance(node, libcst.Name) else ""
