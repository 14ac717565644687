"""Modules under other names."""

from __future__ import annotations

import libcst as cst

from rewrites.scopes import bound, walk


def imported_by_other_names(source: str) -> str:
    """`import a` and `import a as b` at the module's start become `import a as imported_1`."""
    module = cst.parse_module(source)
    imported = _Imports(module)
    if not imported.names:
        return source
    return module.visit(_Renamed(imported.names)).code


class _Imports:
    """The modules that are imported once, as a whole, and never bound again."""

    def __init__(self, module: cst.Module) -> None:
        self.names: dict[str, str] = {}
        again = bound([module]) | _bound_elsewhere(module)
        for alias in _aliases(module):
            name = _bound_name(alias)
            if name and name not in again and name not in self.names:
                self.names[name] = f"imported_{len(self.names) + 1}"


class _Renamed(cst.CSTTransformer):
    def __init__(self, names: dict[str, str]) -> None:
        super().__init__()
        self.names = names

    def visit_ImportFrom(self, node: cst.ImportFrom) -> bool:
        return False

    def leave_ImportAlias(
        self, original_node: cst.ImportAlias, updated_node: cst.ImportAlias
    ) -> cst.ImportAlias:
        name = _bound_name(original_node)
        if name not in self.names:
            return original_node
        return original_node.with_changes(
            asname=cst.AsName(
                cst.Name(self.names[name]),
                whitespace_before_as=cst.SimpleWhitespace(" "),
                whitespace_after_as=cst.SimpleWhitespace(" "),
            )
        )

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.Name:
        return updated_node.with_changes(
            value=self.names.get(original_node.value, original_node.value)
        )

    def leave_Attribute(
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.Attribute:
        return updated_node.with_changes(attr=original_node.attr)

    def leave_Arg(self, original_node: cst.Arg, updated_node: cst.Arg) -> cst.Arg:
        return updated_node.with_changes(keyword=original_node.keyword)


def _aliases(module: cst.Module) -> list[cst.ImportAlias]:
    return [
        alias
        for line in module.body
        if isinstance(line, cst.SimpleStatementLine)
        for small in line.body
        if isinstance(small, cst.Import)
        for alias in small.names
    ]


def _bound_name(alias: cst.ImportAlias) -> str:
    if alias.asname is not None:
        return alias.asname.name.value if isinstance(alias.asname.name, cst.Name) else ""
    return alias.name.value if isinstance(alias.name, cst.Name) else ""


def _bound_elsewhere(module: cst.Module) -> set[str]:
    found: set[str] = set()
    aliases = [id(alias) for alias in _aliases(module)]
    counted: dict[str, int] = {}
    for node in walk(module):
        if isinstance(node, cst.FunctionDef | cst.ClassDef | cst.Lambda):
            found |= bound([node.body])
            if not isinstance(node, cst.Lambda):
                found.add(node.name.value)
        elif isinstance(node, cst.Param):
            found.add(node.name.value)
        elif isinstance(node, cst.CompFor):
            found |= {one.value for one in walk(node.target) if isinstance(one, cst.Name)}
        elif isinstance(node, cst.Import):
            for alias in node.names:
                name = _bound_name(alias)
                parts = [one.value for one in walk(alias.name) if isinstance(one, cst.Name)]
                first = name or parts[0]
                counted[first] = counted.get(first, 0) + 1
                if id(alias) not in aliases:
                    found.add(first)
        elif isinstance(node, cst.ImportFrom) and not isinstance(node.names, cst.ImportStar):
            for alias in node.names:
                found.add(_bound_name(alias))
        elif isinstance(node, cst.Global):
            found |= {item.name.value for item in node.names}
    return found | {name for name, times in counted.items() if times > 1}
