"""The change that tells a sampler the epoch, where there is one place for it and no doubt."""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from transpile.facts.events import Loop
from transpile.facts.values import Opaque
from transpile.finding import Fix
from transpile.layout.fixes import fix_of
from transpile.layout.statements import insert_at_start_of_body
from transpile.text.source import Source


def told_the_epoch(sampler: Opaque, loops: Iterable[Loop]) -> Fix | None:
    """The line at the top of the loop of epochs; None where that would be a guess.

    The sampler is what one name stands for, wherever the loop can see it: the name is bound once in
    its scope, by a statement that always runs, and the scope of the loop does not bind it anew.

    Args:
        sampler: the sampler.
        loops: the loops over epochs around the training.
    """
    nodes = {id(loop.node): loop for loop in loops}
    module = sampler.module
    if len(nodes) != 1 or module is None:
        return None
    (loop,) = nodes.values()
    if loop.module is not module or not isinstance(loop.node, cst.For):
        return None
    source = module.source
    name, epoch = name_of(source, sampler.node), loop.node.target
    if not name or not isinstance(epoch, cst.Name) or not counts(source, loop.node):
        return None
    own, around = scope(source, sampler.node), scope(source, loop.node)
    if bindings(source, own, name) != 1:
        return None
    if own is not around and (not isinstance(own, cst.Module) or bindings(source, around, name)):
        return None
    if own is around and source.span(sampler.node).start > source.span(loop.node).start:
        return None
    lines = [f"{name}.set_epoch({epoch.value})"]
    edits = insert_at_start_of_body(source, loop.node, lines)
    return fix_of(source, edits, "Tell the sampler the epoch.")


def name_of(source: Source, node: cst.CSTNode) -> str:
    """The name that a value is bound to by a statement which always runs; empty for others."""
    assigned = source.parent(node)
    if not isinstance(assigned, cst.Assign) or len(assigned.targets) != 1:
        return ""
    target = assigned.targets[0].target
    line = source.parent(assigned)
    block = source.parent(line) if line is not None else None
    if isinstance(block, cst.IndentedBlock):
        block = source.parent(block)
    always = isinstance(block, (cst.Module, cst.FunctionDef)) or is_main_guard(source, block)
    return target.value if always and isinstance(target, cst.Name) else ""


def is_main_guard(source: Source, node: cst.CSTNode | None) -> bool:
    """Whether a block runs where the module is the program."""
    return isinstance(node, cst.If) and "__name__" in source.code(node.test)


def counts(source: Source, loop: cst.For) -> bool:
    """Whether a loop goes over numbers."""
    call = loop.iter
    return isinstance(call, cst.Call) and source.code(call.func) in ("range", "trange")


def scope(source: Source, node: cst.CSTNode) -> cst.CSTNode:
    """The function around a node, or the module."""
    kinds = (cst.FunctionDef, cst.Lambda, cst.ClassDef, cst.Module)
    return next(one for one in source.parents(node) if isinstance(one, kinds))


def bindings(source: Source, around: cst.CSTNode, name: str) -> int:
    """How often a scope binds a name, declares it, or names a parameter so."""
    count = 0
    for node in source.nodes_of(cst.Name):
        if node.value != name or scope(source, node) is not around:
            continue
        parent = source.parent(node)
        if isinstance(parent, cst.Param):
            count += parent.name is node
        elif isinstance(
            parent,
            (cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.For, cst.CompFor, cst.AsName,
             cst.NamedExpr, cst.Global, cst.NameItem, cst.Element, cst.Del, cst.FunctionDef,
             cst.ClassDef, cst.ImportAlias),
        ):  # fmt: skip
            count += is_bound(parent, node)
    return count


def is_bound(parent: cst.CSTNode, node: cst.Name) -> bool:
    """Whether a name stands where it is bound; where that is not told, it is."""
    if isinstance(parent, cst.For):
        return parent.target is node
    if isinstance(parent, (cst.AnnAssign, cst.AugAssign, cst.NamedExpr)):
        return parent.target is node
    return True
