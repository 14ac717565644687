"""The folders that a script adds to ``sys.path``, where they can be told without running it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import libcst as cst

from transpile import asking
from transpile.facts.walk import children
from transpile.text.source import Source

_BLOCKS = (
    cst.Module, cst.IndentedBlock, cst.SimpleStatementLine, cst.If, cst.Else, cst.Try,
    cst.ExceptHandler, cst.Finally, cst.With,
)  # fmt: skip
#: Functions and methods that give the same folder in another spelling.
_SAME = frozenset(
    {"abspath", "realpath", "normpath", "str", "fspath", "resolve", "absolute", "as_posix", "Path",
     "PurePath", "expanduser"}
)  # fmt: skip
_DIRECTIONS = {"pardir": "..", "curdir": "."}


def added_folders(
    source: Source, file: Path, by_functions: bool = True
) -> tuple[list[Path], list[Path]]:
    """The folders that a module puts in front of ``sys.path``, and behind it.

    Args:
        source: the module.
        file: where it is; relative folders are taken as relative to its folder.
        by_functions: whether those that a function adds once it runs count, too.
    """
    front: list[Path] = []
    behind: list[Path] = []
    names = _names_of_sys(source)
    if not names:
        return front, behind
    known: dict[str, str] = {}
    adders = _adders(source, names)
    for statement in _statements(source.tree, by_functions):
        if isinstance(statement, cst.Assign) and len(statement.targets) == 1:
            target = statement.targets[0].target
            value = _text(statement.value, file, known)
            if isinstance(target, cst.Name) and value is not None:
                known[target.value] = value
            continue
        for places, node in (
            *_added(statement, names, front, behind),
            *_added_by(statement, adders, front, behind),
        ):
            value = _text(node, file, known)
            if value is not None:
                places.append(Path(os.path.normpath(file.parent / value)))
    return front, behind


def _statements(node: cst.CSTNode, of_functions: bool) -> Iterator[cst.CSTNode]:
    """The small statements that run when a module is imported, or in its functions, in order."""
    for child in children(node):
        if isinstance(child, cst.BaseSmallStatement):
            yield child
        elif isinstance(child, _BLOCKS) or (of_functions and isinstance(child, cst.FunctionDef)):
            yield from _statements(child, of_functions)


def _adders(source: Source, names: frozenset[str]) -> dict[str, bool]:
    """The functions that add what they are given first, and whether in front."""
    found: dict[str, bool] = {}
    for function in source.nodes_of(cst.FunctionDef):
        first = function.params.params[0].name.value if function.params.params else ""
        front: list[Path] = []
        for statement in _statements(function.body, of_functions=False):
            for places, node in _added(statement, names, front, []):
                if isinstance(node, cst.Name) and node.value == first:
                    found[function.name.value] = places is front
    return found


def _added_by(
    statement: cst.CSTNode, adders: dict[str, bool], front: list[Path], behind: list[Path]
) -> Iterator[tuple[list[Path], cst.BaseExpression]]:
    """The expression that a statement gives to a function that adds it."""
    call = statement.value if isinstance(statement, cst.Expr) else None
    if isinstance(call, cst.Call) and isinstance(call.func, cst.Name) and call.args:
        if call.func.value in adders:
            yield front if adders[call.func.value] else behind, call.args[0].value


def _names_of_sys(source: Source) -> frozenset[str]:
    """What ``sys.path`` is called in a module; nothing where it is not named."""
    if "sys" not in source.text:
        return frozenset()
    found = set()
    for imported in source.nodes_of(cst.Import):
        for alias in imported.names:
            if _dotted(alias.name) == "sys":
                found.add(f"{_bound_name(alias)}.path")
    for taken in source.nodes_of(cst.ImportFrom):
        if taken.module is None or _dotted(taken.module) != "sys":
            continue
        if not isinstance(taken.names, cst.ImportStar):
            found |= {_bound_name(each) for each in taken.names if _dotted(each.name) == "path"}
    return frozenset(found)


def _bound_name(alias: cst.ImportAlias) -> str:
    """What an import calls what it imports."""
    return _dotted(alias.name if alias.asname is None else alias.asname.name)


def _added(
    statement: cst.CSTNode, names: frozenset[str], front: list[Path], behind: list[Path]
) -> Iterator[tuple[list[Path], cst.BaseExpression]]:
    """The expressions that a statement adds to the search path, and at which end."""
    if isinstance(statement, cst.AugAssign) and _dotted(statement.target) in names:
        if isinstance(statement.value, (cst.List, cst.Tuple)):
            yield from ((behind, element.value) for element in statement.value.elements)
    if not isinstance(statement, cst.Expr) or not isinstance(statement.value, cst.Call):
        return
    call = statement.value
    path, _, word = _dotted(call.func).rpartition(".")
    given = [argument.value for argument in call.args]
    if path not in names:
        return
    if word == "append" and len(given) == 1:
        yield behind, given[0]
    elif word == "insert" and len(given) == 2:
        yield front, given[1]
    elif word == "extend" and len(given) == 1:
        if isinstance(given[0], (cst.List, cst.Tuple)):
            yield from ((behind, element.value) for element in given[0].elements)


def _text(node: cst.BaseExpression, file: Path, known: dict[str, str]) -> str | None:
    """The path that an expression stands for; None where it cannot be told."""
    if isinstance(node, (cst.SimpleString, cst.ConcatenatedString)):
        value = node.evaluated_value
        return value if isinstance(value, str) else None
    if isinstance(node, cst.Name):
        return str(file) if node.value == "__file__" else known.get(node.value)
    if isinstance(node, cst.Attribute):
        if node.attr.value in _DIRECTIONS:
            return _DIRECTIONS[node.attr.value]
        value = _text(node.value, file, known)
        return os.path.dirname(value) if value and node.attr.value == "parent" else None
    if isinstance(node, cst.BinaryOperation):
        left, right = _text(node.left, file, known), _text(node.right, file, known)
        if left is None or right is None:
            return None
        if isinstance(node.operator, cst.Divide):
            return os.path.join(left, right)
        return left + right if isinstance(node.operator, cst.Add) else None
    if isinstance(node, cst.Subscript):
        return _ancestor(node, file, known)
    if isinstance(node, cst.Call):
        return _called(node, file, known)
    return None


def _called(node: cst.Call, file: Path, known: dict[str, str]) -> str | None:
    """The path that a call gives."""
    word = _dotted(node.func).rpartition(".")[2]
    if word in ("getcwd", "cwd"):
        return "."
    given = [_text(argument.value, file, known) for argument in node.args]
    if not given and isinstance(node.func, cst.Attribute):
        given = [_text(node.func.value, file, known)]
    if not given or any(one is None for one in given):
        return None
    parts = [one for one in given if one is not None]
    if word == "dirname":
        return os.path.dirname(parts[0]) or "."
    if word == "join":
        return os.path.join(*parts)
    if word == "joinpath" and isinstance(node.func, cst.Attribute):
        base = _text(node.func.value, file, known)
        return os.path.join(base, *parts) if base is not None else None
    return parts[0] if word in _SAME else None


def _ancestor(node: cst.Subscript, file: Path, known: dict[str, str]) -> str | None:
    """``Path(...).parents[n]`` and ``os.path.split(...)[0]``."""
    index = node.slice[0].slice if len(node.slice) == 1 else None
    if not isinstance(index, cst.Index) or not isinstance(index.value, cst.Integer):
        return None
    number = int(index.value.value)
    if isinstance(node.value, cst.Attribute) and node.value.attr.value == "parents":
        value = _text(node.value.value, file, known)
        for _ in range(number + 1):
            value = os.path.dirname(value) if value is not None else None
        return value
    if isinstance(node.value, cst.Call) and _dotted(node.value.func).endswith("path.split"):
        value = _text(node.value.args[0].value, file, known) if node.value.args else None
        return os.path.dirname(value) if value is not None and number == 0 else None
    return None


def _dotted(node: cst.CSTNode) -> str:
    """A dotted name; the last part alone of what is no name all through."""
    if isinstance(node, cst.Attribute):
        before = _dotted(node.value)
        return f"{before}.{node.attr.value}" if before else node.attr.value
    return node.value if isinstance(node, cst.Name) else ""


def holds(folder: Path, package: str) -> bool:
    """Whether a module or package of that name stands in a folder."""
    if not package.isidentifier():
        return False
    places = (folder / package / "__init__.py", folder / f"{package}.py")
    return any(asking.is_file(place) for place in places)


def folders_around(folders: Sequence[Path], package: str) -> Iterator[Path]:
    """Where a package may stand that a script does not find by itself.

    That is one of some folders, from the script's upwards, or the only one in any of these that
    holds the package. A folder with many others is no project, but one that projects stand in.
    """
    if package in sys.stdlib_module_names or not package.isidentifier():
        return
    yield from folders
    for folder in folders:
        files = asking.matching(folder, f"*/{package}.py")
        packages = asking.matching(folder, f"*/{package}/__init__.py")
        found = {*(one.parent for one in files), *(one.parent.parent for one in packages)}
        if len(found) == 1 and not asking.is_crowded(folder):
            yield found.pop()
            return
