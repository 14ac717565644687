"""The changes for files of all processes, sums that nobody divides, and samplers without epoch."""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from transpile.audit.model import Audit
from transpile.facts.events import Branch, Event, Loop
from transpile.facts.module import Module
from transpile.facts.values import External, Opaque
from transpile.facts.walk import descendants
from transpile.finding import Fix
from transpile.layout.fixes import fix_of
from transpile.layout.guards import guard
from transpile.layout.statements import insert_after, insert_at_start_of_body
from transpile.rules.pytorch.audit._meetings import meetings
from transpile.text.source import Source


def on_main_rank(audit: Audit, module: Module, node: cst.CSTNode) -> Fix | None:
    """The guard of a statement that is one call; None where a process group may be missing.

    What all processes must come to, in an argument, stays outside of a guard.
    """
    line, place = line_of(module, node), package(module)
    events = audit.first.events_at.get(id(node), [])
    if line is None or not place or not events or not is_joined(audit, events[0]):
        return None
    inside = {id(part) for part in descendants(line)}
    if any(id(one.event.node) in inside for one in meetings(audit, audit.first)):
        return None
    edits = guard(module.source, line, line, f"if {place}.get_rank() == 0:")
    return fix_of(module.source, edits, "Do it on rank 0 alone.")


def division(event: Event) -> Fix | None:
    """The line behind an all-reduce that divides what a name stands for."""
    line, place = line_of(event.module, event.node), package(event.module)
    if line is None or not place or not isinstance(event.node, cst.Call) or not event.node.args:
        return None
    target = event.node.args[0].value
    if not isinstance(target, cst.Name):
        return None
    lines = [f"{target.value} /= {place}.get_world_size()"]
    edits = insert_after(event.module.source, line, lines)
    return fix_of(event.module.source, edits, "Divide by the number of processes.")


def line_of(module: Module, node: cst.CSTNode) -> cst.SimpleStatementLine | None:
    """The line that is one call and nothing else; None for others."""
    around = module.source.parent(node)
    line = module.source.parent(around) if isinstance(around, cst.Expr) else None
    if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1:
        return line
    return None


def package(module: Module) -> str:
    """How a module calls ``torch.distributed``; empty where it has no name for it."""
    names = module.scope.names if module.scope is not None else {}
    for name, values in names.items():
        if values == (External("torch.distributed"),):
            return name
    return "torch.distributed" if names.get("torch") == (External("torch"),) else ""


def is_joined(audit: Audit, event: Event) -> bool:
    """Whether a process group is joined by then, whatever the settings are."""
    joins = audit.first.facts.calls_to(*audit.vocabulary.joins)
    return any(
        join.order < event.order and not any(isinstance(frame, Branch) for frame in join.stack)
        for join in joins
    )


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
