"""Files that the high-level interface writes on one process and that all processes read."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import Argument, Constant, External, Values
from transpile.plan.flow.places import statement_of
from transpile.plan.model import Plan
from transpile.records import dataclass
from transpile.rules.paddle.effects._once import BARRIERS, once_of
from transpile.rules.paddle.high_level._high_level import fit_argument, high_level

READS = frozenset({"paddle.load", "paddle.jit.load"})


@dataclass(frozen=True, eq=False)
class Awaited:
    """A place at which every process must wait for what one process writes.

    Args:
        module: where it is.
        statement: the statement before which to wait.
        read: what reads.
        waits: a barrier is there already.
    """

    module: Module
    statement: cst.CSTNode
    read: Event
    waits: bool


def awaited(plan: Plan) -> Iterator[Awaited]:
    """Each place that reads what ``save()`` or ``fit()`` has written, if all processes come there.

    Both write under the beginning of a path that they are given.
    """
    found = high_level(plan)
    writes = [
        *((event, written(event.arguments.get("path", 0))) for event in found.saves),
        *((event, written(fit_argument(event, "save_dir"))) for event in found.fits),
    ]
    barriers = [event.order for event in plan.facts.calls if BARRIERS & names_of(event)]
    seen: set[int] = set()
    waited: set[int] = set()
    for event in plan.facts.calls:
        if event.detached or not (event in found.loads or READS & names_of(event)):
            continue
        path = event.arguments.get("path", 0)
        read = path.values if path is not None else ()
        for write, prefix in writes:
            if prefix is None or write.order >= event.order or not below(read, prefix):
                continue
            if id(write) in waited or once_of(plan).ranks.some_ranks(event):
                continue
            statement = statement_of(event.module, event.node)
            if statement is not None and id(statement) not in seen:
                seen.add(id(statement))
                waited.update(id(each) for each, _ in writes if each.order < event.order)
                waits = any(write.order < order < event.order for order in barriers)
                yield Awaited(event.module, statement, event, waits)


def names_of(event: Event) -> set[str]:
    """The dotted names that an event calls."""
    return {callee.name for callee in event.callee if isinstance(callee, External)}


def written(path: Argument | None) -> Values | None:
    """The beginning of the paths that a call writes to; None where it writes nothing."""
    if path is None or path.values == (Constant(None),):
        return None
    return path.values


def below(read: Values, prefix: Values) -> bool:
    """Whether a path may begin with another."""
    if not read or not prefix:
        return True
    return any(
        not (isinstance(one, Constant) and isinstance(other, Constant))
        or plain(one.value).startswith(plain(other.value))
        for one in read
        for other in prefix
    )


def plain(path: object) -> str:
    """A path without the dot that it may begin with."""
    return str(path).removeprefix("./")
