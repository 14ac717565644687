"""The changes for files that all processes write, and for sums that nobody divides."""

from __future__ import annotations

import libcst as cst

from transpile.audit.model import Audit
from transpile.facts.events import Branch, Event
from transpile.facts.module import Module
from transpile.facts.values import External
from transpile.facts.walk import descendants
from transpile.finding import Fix
from transpile.layout.fixes import fix_of
from transpile.layout.guards import guard
from transpile.layout.statements import insert_after
from transpile.rules.pytorch.audit._meetings import meetings


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
