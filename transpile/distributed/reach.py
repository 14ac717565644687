"""What a script comes to: functions and classes that are named by what it comes to."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from transpile.distributed.modules import Defined, Definition, Named, Names, chain
from transpile.records import dataclass

#: Calls that only look at what they are given.
LOOKING = frozenset({"isinstance", "issubclass", "hasattr", "getattr", "callable", "type"})
ENVIRONMENT = frozenset({"os.environ", "os.environ.get", "os.getenv", "os.environ.setdefault"})


@dataclass(frozen=True, eq=False)
class Reached:
    """A call or base outside the project that the script comes to.

    Args:
        name: its full name.
        module: where it stands.
        node: the call, or the class.
    """

    name: str
    module: Named
    node: ast.Call | ast.ClassDef


class Reach:
    """Follows a script by names alone.

    A method of a class is come to where the class is, and something is called by its name.

    Args:
        names: what names stand for.
        canonical: the name that a full name is known by.
        settled: whether the calls so far are enough.
    """

    def __init__(
        self,
        names: Names,
        canonical: Callable[[str], str],
        settled: Callable[[list[Reached]], bool],
    ) -> None:
        self.names = names
        self.canonical = canonical
        self.calls: list[Reached] = []
        #: Names of environment variables that are read.
        self.variables: list[tuple[str, Named, ast.AST]] = []
        self._seen: set[int] = set()
        self._named: set[str] = set()
        self._called: set[str] = set()
        self._waiting: dict[str, list[Defined]] = {}
        self._pending: list[tuple[Named, list[ast.AST]]] = []
        #: Modules whose own statements run, after what the script names.
        self._imported: list[str] = []
        self._module(names.entry)
        count = 0
        while self._pending or self._imported:
            if len(self.calls) > count and settled(self.calls[count:]):
                return
            count = len(self.calls)
            if self._pending:
                self._look(*self._pending.pop())
            else:
                module = names.module(self._imported.pop(0))
                if module is not None:
                    self._module(module)

    def _module(self, module: Named) -> None:
        if id(module) in self._seen:
            return
        self._seen.add(id(module))
        self._pending.append((module, list(module.tree.body)))

    def _define(self, found: Defined) -> None:
        if id(found.node) in self._seen:
            return
        self._seen.add(id(found.node))
        if not isinstance(found.node, ast.ClassDef):
            self._pending.append((found.module, [*found.node.body]))
            return
        rest: list[ast.AST] = [*found.node.bases]
        for base in found.node.bases:
            name = self.names.resolve(found.module, chain(base)) if chain(base) else None
            if isinstance(name, str):
                self.calls.append(Reached(self.canonical(name), found.module, found.node))
        for statement in found.node.body:
            if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
                rest.append(statement)
            elif statement.name.startswith("__") or statement.name in self._called:
                self._define(Defined(found.module, statement))
            else:
                self._waiting.setdefault(statement.name, []).append(
                    Defined(found.module, statement)
                )
        self._pending.append((found.module, rest))

    def _look(self, module: Named, nodes: list[ast.AST]) -> None:
        for node in own_nodes(nodes, at_top=True):
            if isinstance(node, ast.Call):
                self._call(module, node)
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                self._import(module, node)
            elif isinstance(node, ast.Attribute):
                self._method(node.attr)
                self._mention(module, node)
            elif isinstance(node, ast.Name):
                self._mention(module, node)
            elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
                if self._environment(module, node.value):
                    self._variable(module, node.slice)

    def _call(self, module: Named, node: ast.Call) -> None:
        dotted = chain(node.func)
        found = self.names.resolve(module, dotted) if dotted else None
        if isinstance(found, str):
            self.calls.append(Reached(self.canonical(found), module, node))
            if found.endswith("partial") and node.args:
                handed = chain(node.args[0])
                made = self.names.resolve(module, handed) if handed else None
                if isinstance(made, str):
                    self.calls.append(Reached(self.canonical(made), module, node))
        if self._environment(module, node.func) and node.args:
            self._variable(module, node.args[0])

    def _environment(self, module: Named, node: ast.AST) -> bool:
        dotted = chain(node)
        if not dotted.rpartition(".")[2].startswith(("environ", "get", "setdefault")):
            return False
        found = self.names.resolve(module, dotted)
        return isinstance(found, str) and found in ENVIRONMENT

    def _variable(self, module: Named, node: ast.AST) -> None:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            self.variables.append((node.value, module, node))

    def _import(self, module: Named, node: ast.Import | ast.ImportFrom) -> None:
        base = module.absolute(node) if isinstance(node, ast.ImportFrom) else None
        for alias in node.names:
            dotted = alias.name if base is None else f"{base}.{alias.name}"
            parts = dotted.split(".")
            for count in range(1, len(parts) + 1):
                name = ".".join(parts[:count])
                if name not in self._named:
                    self._named.add(name)
                    self._imported.append(name)

    def _method(self, name: str) -> None:
        if name not in self._called:
            self._called.add(name)
            for found in self._waiting.pop(name, ()):
                self._define(found)

    def _mention(self, module: Named, node: ast.AST) -> None:
        dotted = chain(node)
        found = self.names.resolve(module, dotted) if dotted else None
        if isinstance(found, Defined):
            self._define(found)


def own_nodes(nodes: list[ast.AST], *, at_top: bool = False) -> Iterator[ast.AST]:
    """Everything below some nodes; of definitions among them, what runs where they are made."""
    stack: list[ast.AST] = list(reversed(nodes))
    top = set(map(id, nodes)) if at_top else set()
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            if is_at_top(node, top):
                stack.extend(reversed(node.decorator_list))
                continue
        yield node
        stack.extend(reversed(list(ast.iter_child_nodes(node))))


def is_at_top(node: Definition, top: set[int]) -> bool:
    """Whether a definition is one that only runs where it is named."""
    return id(node) in top
