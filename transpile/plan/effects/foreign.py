"""Effects in other modules of the project."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Call, Event
from transpile.facts.module import Module
from transpile.facts.values import BoundMethod, Class, Function
from transpile.facts.walk import children
from transpile.plan.effects.effects import Effect, Kind
from transpile.plan.effects.treatment import ATTACHING, LOOSE, NEEDING, Once, descendants
from transpile.plan.flow.places import function_of
from transpile.plan.flow.start import is_main_guard
from transpile.plan.model import Plan
from transpile.plan.query import query


def find_idle(once: Once) -> Iterator[int]:
    """The calls of effects in other modules that this script does not come to, as far as is seen.

    They stay as they are. A method may be called by a library, where the script makes objects of
    its class.
    """
    running: set[int] = set()
    classes: set[int] = set()
    for event in once.plan.facts.events:
        if event.detached:
            continue
        running.update(id(frame.function.node) for frame in event.calls())
        for callee in event.callee if event.kind == "call" else ():
            if isinstance(callee, Class):
                classes.update(id(one) for one in callee.ancestry() if isinstance(one, Class))
    for effect in once.effects.values():
        module = effect.module
        if module.is_entry or any(not event.detached for event in effect.events):
            continue
        function = function_of(module, effect.node)
        owners = {id(call.function.owner) for event in effect.events for call in event.calls()}
        if function is None:
            runs = not any(
                isinstance(around, cst.If) and is_main_guard(around)
                for around in module.source.parents(effect.node)
            )
        else:
            called = bool(owners & classes) and not is_called_by_name(function)
            runs = id(function) in running or called
        if not runs:
            yield id(effect.node)


def is_called_by_name(function: cst.FunctionDef) -> bool:
    """Whether a method belongs to its class alone, so that no library calls it on an object."""
    return any(
        isinstance(decorator.decorator, cst.Name)
        and decorator.decorator.value in ("classmethod", "staticmethod")
        for decorator in function.decorators
    )


def find_calls(once: Once) -> None:
    """Calls in the entry of functions elsewhere that do nothing but have effects.

    A guard around such a call is enough; the function stays as it is.
    """
    quiet = (Kind.LOG, Kind.SWITCHED_TRACK, Kind.DOWNLOAD, *ATTACHING)
    entry = once.plan.entry
    for effect in list(once.effects.values()):
        if effect.module is entry or effect.kind in quiet:
            continue
        if id(effect.node) in once.done or id(effect.node) in once.idle:
            continue
        sites: dict[int, cst.Call] = {}
        placed = True
        for event in effect.events:
            site = site_in_entry(event, entry)
            if site is None or not calls_effects_only(once, site):
                placed = False
            else:
                sites[id(site)] = site
        if not placed:
            continue
        once.elsewhere.add(id(effect.node))
        for key, site in sites.items():
            if key not in once.effects:
                events = once.reads.calls[key]
                once.effects[key] = Effect(
                    Kind.CALL, f"{entry.source.code(site.func)}()", entry, site, list(events)
                )
                if all(once.ranks.some_ranks(event) for event in events):
                    once.done.add(key)


def give_up(once: Once, calls: list[Effect]) -> None:
    """Leave the effects behind some calls to guards in their own modules.

    With an effect go all calls that lead to it, as one guard is enough.
    """
    entry = once.plan.entry
    pending = list(calls)
    while pending:
        call = pending.pop()
        if once.effects.pop(id(call.node), None) is None:
            continue
        for effect in list(once.effects.values()):
            if id(effect.node) not in once.elsewhere:
                continue
            sites = {id(site_in_entry(event, entry)) for event in effect.events}
            if id(call.node) in sites:
                once.elsewhere.discard(id(effect.node))
                pending.extend(once.effects[site] for site in sites if site in once.effects)


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
        if once.reads.meets(event):
            return False
        if not all(isinstance(callee, (Function, BoundMethod)) for callee in event.callee):
            return False
        for callee in event.callee:
            function = callee.function if isinstance(callee, BoundMethod) else callee
            if not isinstance(function, Function) or not keeps_to_itself(
                once.plan, function.module, function.node
            ):
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


@query
def keeps_to_itself(plan: Plan, module: Module, node: cst.CSTNode) -> bool:
    """Whether the globals that a function binds are read by no other function of its module."""
    if not isinstance(node, cst.FunctionDef):
        return False
    declared = {
        item.name.value
        for statement in descendants(node.body, (cst.Global, cst.Nonlocal))
        for item in statement.names  # type: ignore[attr-defined]
    }
    if not declared:
        return True
    stack: list[cst.CSTNode] = [module.source.tree]
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
