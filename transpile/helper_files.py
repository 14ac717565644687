"""Helpers that live in real Python files: read as text, and made templates for the prelude."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import libcst as cst

from transpile.options import Options
from transpile.prelude import HelperSource

#: What stands for ``$`` in names of a tree, where that is none of a name's letters.
_MARK = "placeholder__"


def from_file(package: str, name: str) -> Callable[[Options], HelperSource]:
    """What gives a helper of a file when it is asked for.

    Args:
        package: dotted name of the module that holds it.
        name: the helper.
    """

    def source(options: Options) -> HelperSource:
        return helpers_in(package)[name]

    return source


@cache
def helpers_in(package: str) -> dict[str, HelperSource]:
    """The helpers of a module, by name, in its order; the module is not run."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(package)
    return templates(Path(spec.origin).read_text("utf-8"))


def templates(text: str) -> dict[str, HelperSource]:
    """The functions and classes of a module's text, as templates for the prelude.

    Names of imports and of the module's other helpers become placeholders.
    """
    tree = cst.parse_module(text)
    modules: dict[str, str] = {}
    definitions: dict[str, cst.FunctionDef | cst.ClassDef] = {}
    for statement in tree.body:
        if isinstance(statement, (cst.FunctionDef, cst.ClassDef)):
            definitions[statement.name.value] = statement
        elif isinstance(statement, cst.SimpleStatementLine):
            for part in statement.body:
                modules.update(imports_of(part))
    found = {}
    for name, definition in definitions.items():
        marking = _Marking({*modules, *definitions})
        bare = definition.with_changes(leading_lines=())
        code = tree.code_for_node(bare.visit(marking)).replace(_MARK, "$")  # type: ignore[arg-type]
        used = [key for key in modules if key in marking.used]
        helpers = tuple(key for key in definitions if key in marking.used and key != name)
        found[name] = HelperSource(code, tuple((key, modules[key]) for key in used), helpers)
    return found


def imports_of(statement: cst.CSTNode) -> dict[str, str]:
    """Local name to dotted name, for an import statement."""
    if isinstance(statement, cst.Import):
        return {
            (alias.asname.name.value if alias.asname else dotted(alias.name)): dotted(alias.name)  # type: ignore[union-attr]
            for alias in statement.names
        }
    if isinstance(statement, cst.ImportFrom) and statement.module is not None:
        assert not isinstance(statement.names, cst.ImportStar)
        return {
            dotted(alias.name): f"{dotted(statement.module)}.{dotted(alias.name)}"
            for alias in statement.names
        }
    return {}


def dotted(name: cst.BaseExpression) -> str:
    """The text of a dotted name."""
    if isinstance(name, cst.Attribute):
        return f"{dotted(name.value)}.{name.attr.value}"
    assert isinstance(name, cst.Name)
    return name.value


class _Marking(cst.CSTTransformer):
    """Puts a ``$`` before the names that a prelude replaces, wherever they are names of values."""

    def __init__(self, names: set[str]) -> None:
        super().__init__()
        self.names = names
        self.used: set[str] = set()

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.Name:
        if original_node.value not in self.names:
            return updated_node
        self.used.add(original_node.value)
        return updated_node.with_changes(value=f"{_MARK}{original_node.value}")

    def leave_Attribute(
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.Attribute:
        return updated_node.with_changes(attr=original_node.attr)

    def leave_Arg(self, original_node: cst.Arg, updated_node: cst.Arg) -> cst.Arg:
        return updated_node.with_changes(keyword=original_node.keyword)


__all__ = ["from_file", "helpers_in", "templates"]
