"""Paths that differ from process to process, handed to libraries of which nothing is known."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.values import External, Opaque, Values
from transpile.plan.graph import called_names, walk_back
from transpile.plan.known import is_known
from transpile.plan.model import Plan

#: Calls whose result differs from process to process.
DIFFERING = (
    "time.time", "time.strftime", "time.localtime", "datetime.datetime.now",
    "datetime.datetime.today", "uuid.", "os.getpid", "random.",
)  # fmt: skip


def handed_path(plan: Plan, event: Event) -> Values:
    """What a library is given that differs from process to process, and may be a path.

    The library may open files there: every process needs the folder that one of them makes.
    """
    called = [callee for callee in event.callee if isinstance(callee, External)]
    if not any(is_unknown(plan, callee) for callee in called):
        return ()
    given = [value for item in event.arguments.items for value in item.values]
    return tuple(value for value in given if any(differing((value,))))


def is_unknown(plan: Plan, callee: External) -> bool:
    """Whether a function is of a library that no table has."""
    package = callee.name.partition(".")[0]
    return not is_known(plan, callee.name) and package not in plan.table.quiet_packages


def differing(values: Values) -> Iterator[tuple[str, cst.CSTNode]]:
    """The calls that make values other ones in each process, with their names."""
    for value in walk_back(values, lambda value: isinstance(value, Opaque)):
        for name in called_names(value):
            if name.startswith(DIFFERING) and isinstance(value, Opaque):
                yield name, value.node


def share_a_call(first: Values, second: Values) -> bool:
    """Whether two paths differ by the same call."""
    calls = {id(node) for _, node in differing(first)}
    return any(id(node) in calls for _, node in differing(second))
