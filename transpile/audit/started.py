"""Which process of a job does something: one that the script starts itself, or that which does."""

from __future__ import annotations

import libcst as cst

from transpile.audit.model import Audit
from transpile.facts.events import Branch, Event
from transpile.plan.query import query


@query
def starting_calls(audit: Audit) -> frozenset[int]:
    """The identities of the calls that run functions of the project in new processes."""
    names = (*audit.vocabulary.spawns, *audit.vocabulary.processes)
    calls = audit.facts.calls_to(*names)
    inside = {id(frame.node) for event in audit.facts.calls for frame in event.calls()}
    return frozenset(id(event.node) for event in calls if id(event.node) in inside)


def is_started(audit: Audit, event: Event) -> bool:
    """Whether an event happens in a process that the script starts itself."""
    starts = starting_calls(audit)
    return any(id(frame.node) in starts for frame in event.calls())


def is_done_before(audit: Audit, events: tuple[Event, ...]) -> bool:
    """Whether the one process that starts the others does something, and they do not.

    What a module does when it is imported, they do, too.
    """
    starts = starting_calls(audit)
    return bool(starts) and all(
        not any(id(frame.node) in starts for frame in event.calls())
        and (any(event.calls()) or is_main_program(event))
        for event in events
    )


def is_main_program(event: Event) -> bool:
    """Whether an event is guarded by a condition of the module, such as that it is the program."""
    if any(isinstance(f, Branch) and isinstance(f.node, cst.If) for f in event.stack):
        return True
    # That it is the program is no open condition, of which the stack would tell.
    return any(
        isinstance(outer, cst.If) and "__name__" in event.module.source.code(outer.test)
        for outer in event.module.source.parents(event.node)
    )
