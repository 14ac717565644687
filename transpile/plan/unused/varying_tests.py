"""The tests that a layer's calls stand under, and whether data or chance decides them."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import Opaque, Value
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan

#: What draws random numbers, beside the functions of the framework.
DRAWN = ("random.", "numpy.random.")
#: Attributes of tensors that are the same for every batch.
FIXED = frozenset(
    {
        "is_cuda", "is_xpu", "device", "dtype", "ndim", "requires_grad", "training", "place",
        "stop_gradient",
    }
)  # fmt: skip
#: An arm of a test, by the identity of the test's statement or expression.
Arm = tuple[int, str]


def tests_around(
    module: Module, node: cst.CSTNode
) -> Iterator[tuple[cst.CSTNode, cst.BaseExpression, str]]:
    """The tests that a node stands in an arm of, or behind, within its function."""
    child = node
    for parent in module.source.parents(node):
        if isinstance(parent, (cst.FunctionDef, cst.Lambda)):
            return
        if isinstance(parent, (cst.If, cst.IfExp)) and child is not parent.test:
            yield parent, parent.test, "then" if child is parent.body else "else"
        if isinstance(parent, cst.IndentedBlock):
            for before in parent.body:
                if before is child:
                    break
                if isinstance(before, cst.If) and leaves(before):
                    yield before, before.test, "else"
        child = parent


def varies(plan: Plan, test: cst.BaseExpression) -> bool:
    """Whether data or chance decides a test, in each pass anew."""
    return any(
        (isinstance(value, Opaque) and value.kind == "element") or draws_some(plan, value)
        for value in walk_back(plan.facts.values_of(test), is_about_data)
    )


def is_about_data(value: Value) -> bool:
    """Whether what a value says may differ from batch to batch: its device or type does not."""
    return not (isinstance(value, Opaque) and value.kind == "attribute" and value.name in FIXED)


def draws_some(plan: Plan, value: Value) -> bool:
    """Whether a call draws random numbers, or some of what it is given."""
    if not isinstance(value, Opaque) or value.kind != "call":
        return False
    return any(
        name in plan.table.draws or name in plan.table.index_draws or name.startswith(DRAWN)
        for name in called_names(value)
    )


def last_names(value: Value) -> set[str]:
    """The last words of the names of what a call calls."""
    return {name.rpartition(".")[2] for name in called_names(value)}


def leaves(node: cst.If) -> bool:
    """Whether a test without another arm leaves the round or the function."""
    body = node.body.body
    last = body[-1] if body else None
    return node.orelse is None and (
        isinstance(last, cst.SimpleStatementLine)
        and isinstance(last.body[-1], (cst.Return, cst.Continue, cst.Break))
    )


def covers(paths: list[tuple[Arm, ...]]) -> bool:
    """Whether both arms of one test lead to a use."""
    first = {path[0] for path in paths}
    return any((node, "then") in first and (node, "else") in first for node, _ in first)
