"""Leaving out of a helper what a script has no use for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from transpile.prelude import HelperSource
from transpile.records import replace

#: Stands for the sign of a placeholder, which Python does not read.
_SIGN = "DOLLAR_"
Change = tuple[int, int, list[str]]


def without(source: HelperSource, names: frozenset[str]) -> HelperSource:
    """A helper that does not call some others.

    Statements that do nothing else than to call one of them, or to bind what one gives back, go,
    and so do contexts that one makes.

    Args:
        source: the helper.
        names: those that are not called.
    """
    text = source.code.replace("$", _SIGN)
    lines = text.split("\n")
    for first, behind, new in sorted(changes(ast.parse(text), lines, names), reverse=True):
        lines[first:behind] = new
    code = "\n".join(lines).replace(_SIGN, "$")

    def is_used(name: str) -> bool:
        return re.search(rf"\${name}\b", code) is not None

    found: HelperSource = replace(
        source,
        code=code,
        modules=tuple(one for one in source.modules if is_used(one[0])),
        helpers=tuple(one for one in source.helpers if is_used(one)),
    )
    return found


def changes(tree: ast.AST, lines: list[str], names: frozenset[str]) -> Iterator[Change]:
    """Lines and what takes their place."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr | ast.Assign) and calls(node.value, names):
            yield node.lineno - 1, node.end_lineno or node.lineno, []
        elif isinstance(node, ast.With):
            kept = [item for item in node.items if not calls(item.context_expr, names)]
            if len(kept) < len(node.items):
                head = node.lineno - 1
                indent = lines[head][: node.col_offset]
                body = lines[head + 1 : node.end_lineno]
                if kept:
                    body = [f"{indent}with {', '.join(map(ast.unparse, kept))}:", *body]
                else:
                    body = [line[4:] for line in body]
                yield head, node.end_lineno or node.lineno, body


def calls(node: ast.expr, names: frozenset[str]) -> bool:
    """Whether an expression is a call of one of the helpers."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id.removeprefix(_SIGN) in names
    )
