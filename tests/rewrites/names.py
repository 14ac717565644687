"""Other names for what functions keep to themselves."""

from __future__ import annotations

import libcst as cst

from rewrites.scopes import bound, bound_within, walk

#: Calls that see names as strings.
_SEE_NAMES = frozenset({"locals", "vars", "eval", "exec", "globals", "dir"})


def renamed_locals(source: str) -> str:
    """Every local of a function gets a name that says nothing."""
    return cst.parse_module(source).visit(_Functions()).code


class _Functions(cst.CSTTransformer):
    """Renames in outermost functions, in methods and in what stands within them."""

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        return False

    def leave_FunctionDef(
        self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef
    ) -> cst.FunctionDef:
        inside = {node.value for node in walk(original_node) if isinstance(node, cst.Name)}
        if inside & _SEE_NAMES:
            return updated_node
        parameters = {
            node.name.value for node in walk(original_node) if isinstance(node, cst.Param)
        }
        # Annotated names without a value, and what inner scopes bind, stay.
        others = bound_within(original_node.body) | parameters
        local = sorted(bound([original_node.body]) - others)
        names = {name: f"v{number}" for number, name in enumerate(local)}
        if inside & set(names.values()):
            return updated_node
        return updated_node.with_changes(body=original_node.body.visit(_Names(names)))


class _Names(cst.CSTTransformer):
    """Names, but not attributes and keywords that are spelled alike."""

    def __init__(self, names: dict[str, str]) -> None:
        super().__init__()
        self.names = names

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
