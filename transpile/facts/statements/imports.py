"""Imports, of modules of the project and of others."""

from __future__ import annotations

from typing import Any

import libcst as cst

from transpile.facts.state import unknown
from transpile.facts.statements.bindings import Bindings
from transpile.facts.values import Constant, External, ModuleValue, Sequence, Values


class Imports(Bindings):
    """The part of the interpreter that knows imports."""

    def import_names(self, node: cst.Import) -> None:
        """``import a.b as c``."""
        for alias in node.names:
            dotted = dotted_name(alias.name)
            bound = alias.asname.name.value if alias.asname is not None else None  # type: ignore[union-attr]
            found = self.find_module(dotted, self.module)
            self.record("import", node, (External(dotted),), name=dotted)
            if found is not None:
                self.import_module(found)
                if bound is not None or "." not in dotted:
                    self.bind_name(bound or dotted, (ModuleValue(found),))
                else:
                    top = self.find_module(dotted.split(".")[0], self.module)
                    if top is not None:
                        self.bind_name(dotted.split(".")[0], (ModuleValue(top),))
                continue
            if bound is not None:
                self.bind_name(bound, (External(self.dialect.canonical(dotted)),))
            else:
                top_name = dotted.split(".")[0]
                self.bind_name(top_name, (External(top_name),))

    def import_from(self, node: cst.ImportFrom) -> None:
        """``from a import b as c`` and ``from a import *``."""
        base = dotted_name(node.module) if node.module is not None else ""
        dotted = "." * len(node.relative) + base
        found = self.find_module(dotted, self.module)
        self.record("import", node, (External(dotted),), name=dotted)
        if found is not None:
            self.import_module(found)
        if isinstance(node.names, cst.ImportStar):
            self.import_star(found, dotted)
            return
        for alias in node.names:
            name = alias.name.value
            bound = alias.asname.name.value if alias.asname is not None else name  # type: ignore[union-attr]
            self.bind_name(str(bound), self.imported(found, dotted, str(name)))

    def imported(self, found: Any, dotted: str, name: str) -> Values:
        """One name imported from a module."""
        if found is None:
            child = self.find_module(
                f"{dotted.rstrip('.')}.{name}" if dotted.strip(".") else f"{dotted}{name}",
                self.module,
            )
            if child is not None:
                self.import_module(child)
                return (ModuleValue(child),)
            if dotted.startswith("."):
                return unknown(f"module '{dotted}' is not beside the script")
            return (External(self.dialect.canonical(f"{dotted}.{name}")),)
        if found.scope is not None and name in found.scope.names:
            values: Values = found.scope.names[name]
            return values
        child = self.find_module(
            f"{dotted}.{name}" if dotted.strip(".") else f"{dotted}{name}", self.module
        )
        if child is not None:
            self.import_module(child)
            return (ModuleValue(child),)
        return unknown(f"'{name}' is not bound in module '{dotted}'")

    def import_star(self, found: Any, dotted: str) -> None:
        """Every public name of a module."""
        if found is None:
            self.module.star_externals.append(dotted)
            return
        if found.scope is None:
            return
        listed = found.scope.names.get("__all__")
        chosen: list[str] | None = None
        if listed and len(listed) == 1 and isinstance(listed[0], Sequence) and not listed[0].rest:
            chosen = [
                str(values[0].value)
                for values in listed[0].elements
                if len(values) == 1 and isinstance(values[0], Constant)
            ]
        for name, values in list(found.scope.names.items()):
            if name in chosen if chosen is not None else not name.startswith("_"):
                self.bind_name(name, values)
        self.module.star_externals.extend(found.star_externals)


def dotted_name(node: cst.CSTNode) -> str:
    """``a.b.c`` of a chain of attributes."""
    if isinstance(node, cst.Attribute):
        return f"{dotted_name(node.value)}.{node.attr.value}"
    if isinstance(node, cst.Name):
        return node.value
    return "?"
