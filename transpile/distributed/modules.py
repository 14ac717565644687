"""The modules of a project as texts: what their names stand for, by their bindings alone."""

from __future__ import annotations

import ast
import builtins
import warnings
from collections.abc import Callable, Iterator
from functools import cached_property

from transpile.facts.extent import MOST_NAMED, Extent
from transpile.records import dataclass

#: How far names are followed from module to module.
DEEPEST = 12
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Text:
    """The text of a module.

    Args:
        name: its dotted name; empty for the script.
        text: what stands in it.
        is_package: whether it is the beginning of a package.
        path: how findings name it.
    """

    name: str
    text: str
    is_package: bool
    path: str


@dataclass(frozen=True, eq=False)
class Defined:
    """A function or class of the project."""

    module: Named
    node: Definition


@dataclass(frozen=True, eq=False)
class Named:
    """A module and what its names stand for.

    Args:
        source: the module.
        tree: its tree.
    """

    source: Text
    tree: ast.Module

    @cached_property
    def _parts(self) -> tuple[list[ast.Import | ast.ImportFrom], set[str]]:
        """The imports, and the names that are bound by anything but imports and definitions."""
        imports: list[ast.Import | ast.ImportFrom] = []
        stored: set[str] = set()
        for node in ast.walk(self.tree):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                imports.append(node)
            elif isinstance(node, ast.Name):
                if not isinstance(node.ctx, ast.Load):
                    stored.add(node.id)
            elif isinstance(node, ast.arg):
                stored.add(node.arg)
        return imports, stored

    @property
    def stored(self) -> set[str]:
        """The names that are bound by anything but imports and definitions."""
        return self._parts[1]

    @cached_property
    def bindings(self) -> dict[str, Definition | str]:
        """Each name to its definition, or to the dotted name that it stands for."""
        found: dict[str, Definition | str] = {}
        for node in self._parts[0]:
            base = self.absolute(node) if isinstance(node, ast.ImportFrom) else None
            for alias in node.names:
                if isinstance(node, ast.Import):
                    top = alias.name if alias.asname else alias.name.partition(".")[0]
                    found.setdefault(alias.asname or top, top)
                elif alias.name != "*" and base is not None:
                    dotted = f"{base}.{alias.name}" if base else alias.name
                    found.setdefault(alias.asname or alias.name, dotted)
        for statement in statements(self.tree.body):
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                found[statement.name] = statement
            elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
                target, dotted = statement.targets[0], chain(statement.value)
                if isinstance(target, ast.Name) and dotted and target.id not in found:
                    found[target.id] = f"={dotted}"
        return found

    @cached_property
    def stars(self) -> list[str]:
        """The modules all of whose names are imported."""
        return [
            base
            for node in self._parts[0]
            if isinstance(node, ast.ImportFrom) and node.names[0].name == "*"
            if (base := self.absolute(node))
        ]

    def absolute(self, node: ast.ImportFrom) -> str | None:
        """The dotted name of the module that names are imported from; None outside the project."""
        base = node.module or ""
        if not node.level:
            return base
        package = self.source.name.split(".") if self.source.name else []
        if package and not self.source.is_package:
            package.pop()
        up = node.level - 1
        if up > len(package):
            return None
        return ".".join([*package[: len(package) - up], *([base] if base else [])])


class Names:
    """Answers what names of a project's modules stand for.

    Args:
        entry: the script.
        find: the module of a dotted name; None where the project has none.
        foreign: dotted names that count as those of a library, whatever the project holds.
    """

    def __init__(
        self, entry: Text, find: Callable[[str], Text | None], foreign: tuple[str, ...]
    ) -> None:
        self.find = find
        self.foreign = foreign
        self.known: dict[str, Named | None] = {}
        self.extent = Extent(MOST_NAMED)
        self.entry = read(entry)

    def module(self, name: str) -> Named | None:
        """The project's module of a dotted name.

        Raises:
            TooLarge: the modules so far hold more than is read.
        """
        if name not in self.known:
            source = self.find(name) if not self.is_foreign(name) else None
            if source is not None:
                self.extent.add(source.path, len(source.text))
            self.known[name] = read(source) if source is not None else None
        return self.known[name]

    def is_foreign(self, dotted: str) -> bool:
        """Whether a dotted name is that of a library for sure."""
        return any(f"{dotted}.".startswith(prefix) for prefix in self.foreign)

    def resolve(self, module: Named, dotted: str, depth: int = 0) -> Defined | Named | str | None:
        """A definition or module of the project, or the full name of what is outside it."""
        if depth > DEEPEST:
            return None
        head, _, rest = dotted.partition(".")
        bound = module.bindings.get(head)
        if isinstance(bound, str) and bound.startswith("="):
            if bound[1:].partition(".")[0] == head:
                return None
            return self.resolve(module, join(bound[1:], rest), depth + 1)
        if isinstance(bound, str):
            return self.absolute(join(bound, rest), depth + 1)
        if bound is not None:
            return Defined(module, bound) if not rest else member(module, bound, rest)
        if head in module.stored or hasattr(builtins, head):
            return None
        for base in reversed(module.stars):
            found = self.absolute(join(base, dotted), depth + 1)
            if found is not None:
                return found
        return None

    def absolute(self, dotted: str, depth: int = 0) -> Defined | Named | str | None:
        """The same for a name from the script's folder."""
        if self.is_foreign(dotted):
            return dotted
        parts = dotted.split(".")
        for count in range(len(parts), 0, -1):
            module = self.module(".".join(parts[:count]))
            if module is not None:
                rest = ".".join(parts[count:])
                if not rest:
                    return module
                found = self.resolve(module, rest, depth + 1)
                missing = found is None and module.source.is_package and not module.stars
                return dotted if missing and parts[count] not in module.stored else found
        return dotted


def read(source: Text) -> Named:
    """A module's tree; an empty one where this Python cannot parse it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Named(source, ast.parse(source.text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Named(source, ast.Module([], []))


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, those in branches and handlers included."""
    for statement in body:
        yield statement
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        for name in ("body", "orelse", "finalbody"):
            yield from statements(getattr(statement, name, []))
        for handler in getattr(statement, "handlers", []):
            yield from statements(handler.body)


def member(module: Named, node: Definition, name: str) -> Defined | None:
    """A method that is named through its class."""
    for statement in node.body if isinstance(node, ast.ClassDef) else ():
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if statement.name == name:
                return Defined(module, statement)
    return None


def chain(node: ast.AST) -> str:
    """``a.b.c`` of a chain of attributes; empty for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([node.id, *reversed(parts)])


def join(first: str, second: str) -> str:
    """Two dotted names behind each other."""
    return f"{first}.{second}" if second else first
