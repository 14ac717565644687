"""Training in processes or threads that a script starts itself."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.calls.started import is_starting, starting_base
from transpile.facts.events import Call, Event
from transpile.facts.values import External, Opaque, Value
from transpile.plan.graph import called_names
from transpile.plan.model import Plan
from transpile.plan.query import query

#: Packages of the standard library that start processes or threads.
MODULES = ("multiprocessing.", "concurrent.futures.", "threading.")
#: Constructors and methods that run a function elsewhere.
STARTS = frozenset(
    {
        "Process", "Thread", "Timer", "spawn", "start_processes", "submit", "map", "starmap",
        "imap", "imap_unordered", "apply", "apply_async", "map_async", "starmap_async",
        "to_thread", "run_in_executor",
    }
)  # fmt: skip


def started_elsewhere(plan: Plan, modules: tuple[str, ...] = ()) -> Iterator[tuple[Event, str]]:
    """Each call that starts training in another process or thread, with the name of what does.

    Args:
        plan: the plan.
        modules: packages of the framework that start processes, beside the standard library's.
    """
    entered = {
        id(frame.node)
        for backward in plan.backwards
        if not backward.event.detached
        for frame in backward.event.stack
        if isinstance(frame, Call) and frame.node is not None
    }
    seen: set[int] = set()
    for event in plan.facts.calls:
        if id(event.node) not in entered or id(event.node) in seen:
            continue
        found = (started_by(callee, (*MODULES, *modules)) for callee in event.callee)
        name = next(filter(None, found), "")
        if name:
            seen.add(id(event.node))
            yield event, name


@query
def starting_calls(plan: Plan) -> frozenset[int]:
    """The calls that run a function in another process or thread, by the identity of their node."""
    return frozenset(
        id(event.node)
        for event in plan.facts.calls
        if any(started_by(callee, MODULES) for callee in event.callee)
    )


def is_elsewhere(plan: Plan, event: Event) -> bool:
    """Whether something happens in a process or thread that the script starts."""
    starting = starting_calls(plan)
    return bool(starting) and any(id(frame.node) in starting for frame in event.calls())


def started_by(callee: Value, modules: tuple[str, ...]) -> str:
    """The name of what starts a process or thread; empty for other callees."""
    if isinstance(callee, External):
        owner, _, word = callee.name.rpartition(".")
        starts = word in STARTS or (word == "start" and is_starting(owner))
        return callee.name if starts and callee.name.startswith(modules) else ""
    if isinstance(callee, Opaque) and callee.kind == "attribute" and callee.name in STARTS:
        for receiver in callee.operands[0]:
            for made in called_names(receiver):
                if made.startswith(modules):
                    return f"{made}().{callee.name}"
    if isinstance(callee, Opaque) and callee.kind == "attribute" and callee.name == "start":
        return next(filter(None, map(starting_base, callee.operands[0])), "")
    return ""
