"""Helpers that live in real Python files: read as text, and made templates for the prelude."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from transpile.options import Options
from transpile.prelude import HelperSource
from transpile.records import replace

#: What a helper is in its file, and how long the word before its name.
Definition = ast.FunctionDef | ast.ClassDef | ast.Assign
_KEYWORDS: dict[type[ast.stmt], int] = {ast.FunctionDef: 4, ast.ClassDef: 6, ast.Assign: 0}

#: Where helpers stand, whose imports of each other are none of the output's.
_EMITTED = ".emitted."


def from_file(
    package: str, name: str, *, without_group: bool = False
) -> Callable[[Options], HelperSource]:
    """What gives a helper of a file when it is asked for.

    Args:
        package: dotted name of the module that holds it.
        name: the helper.
        without_group: it knows what to do before the process group is joined.
    """

    def source(options: Options) -> HelperSource:
        found = helpers_in(package)[name]
        return replace(found, without_group=True) if without_group else found

    return source


@cache
def helpers_in(package: str) -> dict[str, HelperSource]:
    """The helpers of a module, by name, in its order; the module is not run."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(package)
    return templates(Path(spec.origin).read_text("utf-8"))


def templates(text: str) -> dict[str, HelperSource]:
    """The functions, classes and variables of a module's text, as templates for the prelude.

    Names of imports and of other helpers become placeholders. A function that is called below its
    definition is called there in outputs, too.
    """
    modules: dict[str, str] = {}
    helpers: list[str] = []
    definitions: dict[str, Definition] = {}
    called: set[str] = set()
    for statement in ast.parse(text).body:
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            definitions[statement.name] = statement
            helpers.append(statement.name)
        elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            definitions[statement.targets[0].id] = statement
            helpers.append(statement.targets[0].id)
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            called.add(ast.unparse(statement.value.func))
        elif isinstance(statement, ast.ImportFrom) and _EMITTED in f"{statement.module}.":
            helpers.extend(alias.name for alias in statement.names)
        else:
            modules.update(imports_of(statement))
    lines = text.splitlines(keepends=True)
    found = {}
    for name, definition in definitions.items():
        names = {*modules, *helpers}
        code = marked(lines, definition, names)
        if name in called:
            code += f"\n\n\n${name}()"
        used = {node.id for node in ast.walk(definition) if isinstance(node, ast.Name)}
        found[name] = HelperSource(
            code,
            tuple((key, modules[key]) for key in modules if key in used),
            tuple(key for key in helpers if key in used and key != name),
        )
    return found


def imports_of(statement: ast.stmt) -> dict[str, str]:
    """Local name to dotted name, for an import statement."""
    if isinstance(statement, ast.Import):
        return {alias.asname or alias.name: alias.name for alias in statement.names}
    if isinstance(statement, ast.ImportFrom):
        return {alias.name: f"{statement.module}.{alias.name}" for alias in statement.names}
    return {}


def marked(lines: list[str], definition: Definition, names: set[str]) -> str:
    """The text of a definition with a ``$`` before each of some names of values, and its own."""
    above = [] if isinstance(definition, ast.Assign) else definition.decorator_list
    first = min([definition.lineno, *(each.lineno for each in above)])
    own = lines[first - 1 : definition.end_lineno]
    column = definition.col_offset + _KEYWORDS[type(definition)]
    places = {(definition.lineno - first, column)}
    for line, column in places_of(definition, names):
        places.add((line - first, column))
    for line, column in sorted(places, reverse=True):
        own[line] = f"{own[line][:column]}${own[line][column:]}"
    in_strings = {
        node.lineno - first + offset
        for node in ast.walk(definition)
        if isinstance(node, ast.JoinedStr)
        for offset in range((node.end_lineno or node.lineno) - node.lineno + 1)
    }
    for line in in_strings:
        own[line] = _FIELD.sub(lambda field: marked_words(field[0], names), own[line])
    return "".join(own).rstrip("\n")


#: What stands in braces; in strings alone, as these helpers are.
_FIELD = re.compile(r"\{[^{}]*\}")


def marked_words(text: str, names: set[str]) -> str:
    """A field of an f-string with a ``$`` before each of some names of values."""
    words = "|".join(map(re.escape, sorted(names)))
    return re.sub(rf"(?<![\w.$])({words})\b", r"$\1", text)


def places_of(definition: ast.AST, names: set[str]) -> Iterator[tuple[int, int]]:
    """Line and column of the names of values outside of f-strings, where columns can be trusted."""
    for child in ast.iter_child_nodes(definition):
        if isinstance(child, ast.JoinedStr):
            continue
        if isinstance(child, ast.Name) and child.id in names:
            yield child.lineno, child.col_offset
        yield from places_of(child, names)


__all__ = ["from_file", "helpers_in", "templates"]
