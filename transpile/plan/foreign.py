"""Effects in other modules of the project, which are not changed."""

from __future__ import annotations

import libcst as cst

from transpile.facts.events import Call, Event
from transpile.facts.module import Module
from transpile.facts.values import BoundMethod, Function
from transpile.facts.walk import children
from transpile.plan.effects import Effect, Kind
from transpile.plan.treatment import ATTACHING, LOOSE, NEEDING, Once, descendants


def find_foreign(once: Once) -> None:
    """Calls in the entry of functions elsewhere that do nothing but have effects."""
    quiet = (Kind.LOG, Kind.SWITCHED_TRACK, *ATTACHING)
    entry = once.plan.entry
    for effect in list(once.effects.values()):
        if effect.module is entry or effect.kind in quiet or id(effect.node) in once.done:
            continue
        if not any(may_happen(event) for event in effect.events):
            continue
        sites: dict[int, cst.Call] = {}
        placed = effect.kind is not Kind.DOWNLOAD
        for event in effect.events:
            site = site_in_entry(event, entry)
            if site is None or not calls_effects_only(once, site):
                placed = False
            else:
                sites[id(site)] = site
        if not placed:
            once.foreign.append(effect)
            continue
        for key, site in sites.items():
            if key not in once.effects:
                events = once.reads.calls[key]
                once.effects[key] = Effect(
                    Kind.CALL, f"{entry.source.code(site.func)}()", entry, site, list(events)
                )
                if all(once.ranks.some_ranks(event) for event in events):
                    once.done.add(key)


def may_happen(event: Event) -> bool:
    """Whether something elsewhere happens in a run of the script.

    A function that nothing calls does not run; a method may be called by a library.
    """
    if not event.detached:
        return True
    outermost = next(event.calls(), None)
    return outermost is not None and outermost.function.owner is not None


def site_in_entry(event: Event, entry: Module) -> cst.Call | None:
    """The call in the entry through which an event elsewhere is reached."""
    for frame in reversed(event.stack):
        if isinstance(frame, Call) and frame.module is entry and isinstance(frame.node, cst.Call):
            return frame.node
    return None


def calls_effects_only(once: Once, site: cst.Call) -> bool:
    """Whether a call of a project function has effects, reads, and does nothing else."""
    events = once.reads.calls.get(id(site), [])
    if not events:
        return False
    for event in events:
        if not all(isinstance(callee, (Function, BoundMethod)) for callee in event.callee):
            return False
        for callee in event.callee:
            function = callee.function if isinstance(callee, BoundMethod) else callee
            if not isinstance(function, Function) or not keeps_to_itself(function):
                return False
    for inner in once.reads.within.get(id(site), ()):
        if inner.kind == "call" and id(inner.node) in once.effects:
            if once.effects[id(inner.node)].kind not in (*NEEDING, *ATTACHING, *LOOSE):
                return False
            continue
        if inner.kind == "call" and any(
            isinstance(callee, (Function, BoundMethod)) for callee in inner.callee
        ):
            continue
        if not once.reads.step_reads(inner):
            return False
    return True


def keeps_to_itself(function: Function) -> bool:
    """Whether the globals that a function binds are read by no other function of its module."""
    node = function.node
    if not isinstance(node, cst.FunctionDef):
        return False
    declared = {
        item.name.value
        for statement in descendants(node.body, (cst.Global, cst.Nonlocal))
        for item in statement.names  # type: ignore[attr-defined]
    }
    if not declared:
        return True
    stack: list[cst.CSTNode] = [function.module.source.tree]
    while stack:
        current = stack.pop()
        if current is node:
            continue
        if isinstance(current, (cst.FunctionDef, cst.Lambda)):
            if any(
                isinstance(name, cst.Name) and name.value in declared
                for name in descendants(current, (cst.Name,))
            ):
                return False
            continue
        stack.extend(children(current))
    return True
