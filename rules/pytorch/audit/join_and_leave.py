"""Find processes that talk before they have joined, or leave while others still wait.

What:
    A collective or a wrap that is reached before the process group is joined, a process group that
    is joined under the number of the process on its machine, and one that is left in a ``finally``.

Why:
    Without a process group PyTorch raises an error at the first collective. In a ``finally``, a
    process that has failed leaves the group, or waits in it, while the others are in the middle of
    a collective: the error that matters is buried.

Before:
    try:
        main()
    finally:
        dist.destroy_process_group()

After:
    main()
    dist.destroy_process_group()

Refuses when:
    nothing joins a process group before the first collective; the rest are warnings.

Source:
    https://pytorch.org/docs/stable/distributed.html#shutdown
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import libcst as cst

from transpile.audit.model import Audit
from transpile.audit.started import is_started
from transpile.facts.events import Event
from transpile.facts.values import Constant, External, Unknown, only_constant
from transpile.rule import Remark
from transpile.rules.pytorch.audit import COLLECTIVES, DDP
from transpile.rules.pytorch.audit._data import engines

CODES = {
    "AU110": "a collective is reached before the process group is joined",
    "AU111": "the process group is left in a finally",
    "AU112": "the process group is joined under the local rank",
}
INIT = "torch.distributed.init_process_group"
KNOWN = frozenset({"torch", "numpy", "builtins", "torchvision", *sys.stdlib_module_names})


def decide(audit: Audit) -> Iterator[Remark]:
    """One remark for the first collective without a group, and for each ``finally``."""
    seen: set[int] = set()
    for event in audit.first.facts.calls_to("torch.distributed.destroy_process_group"):
        if id(event.node) not in seen and in_finally(event):
            seen.add(id(event.node))
            yield Remark.warn(
                "AU111",
                event,
                "a process that fails leaves the group here while the others are in a collective, "
                "and they wait, or fail with an error of their own that hides the first",
                "leave the group where the script ends without an error, behind a barrier",
            )
    yield from locally(audit)
    if not engines(audit):
        yield from unjoined(audit)


def locally(audit: Audit) -> Iterator[Remark]:
    """Joins under a number that two processes of two machines have in common."""
    first, _, elsewhere = audit.processes
    if elsewhere.facts is first.facts:
        return
    there = {id(event.node): event for event in elsewhere.facts.calls_to(INIT)}
    for event in first.facts.calls_to(INIT):
        other = there.get(id(event.node))
        if other is None or rank_of(event) is None or rank_of(event) != rank_of(other):
            continue
        if is_started(audit, event):
            # What starts its processes itself is for one machine.
            continue
        size = event.arguments.get("world_size", 3)
        given = only_constant(size.values) if size is not None else None
        if given == Constant(1) or is_of_machine(event):
            continue
        yield Remark.warn(
            "AU112",
            event,
            "on a second machine the processes join under the same ranks as on the first, as this "
            "is the number of a process on its machine: the job waits, or trains on one machine",
            "leave rank and world_size out, or take RANK and WORLD_SIZE of the launcher",
        )


def is_of_machine(event: Event) -> bool:
    """Whether a job is told that its processes meet on the machine itself."""
    place = event.arguments.get("init_method", 1)
    constant = only_constant(place.values) if place is not None else None
    word = str(constant.value) if constant is not None else ""
    return word.partition("://")[2].startswith(("127.", "localhost", "[::1]"))


def rank_of(event: Event) -> Constant | None:
    """The rank that a process joins under, where that is known."""
    argument = event.arguments.get("rank", 4)
    return only_constant(argument.values) if argument is not None else None


def unjoined(audit: Audit) -> Iterator[Remark]:
    """The first collective, where no process group has been joined by then."""
    facts = audit.first.facts
    meeting = facts.calls_to(DDP, *COLLECTIVES)
    if not meeting:
        return
    first = meeting[0]
    joins = facts.calls_to(*audit.vocabulary.joins)
    if joins and joins[0].order < first.order:
        return
    if any(may_join(event) for event in facts.calls if event.order < first.order):
        return
    yield Remark.error(
        "AU110",
        first,
        "no process group is joined before this: PyTorch raises an error here",
        "call torch.distributed.init_process_group first",
    )


def may_join(event: Event) -> bool:
    """Whether a call that cannot be analysed might join a process group."""
    for callee in event.callee:
        if isinstance(callee, Unknown):
            return True
        if isinstance(callee, External) and callee.name.partition(".")[0] not in KNOWN:
            return True
    return False


def in_finally(event: Event) -> bool:
    """Whether a call stands in a ``finally``, also that of a function around it."""
    places = [(event.module, event.node)]
    for frame in event.calls():
        if frame.node is not None:
            places.append((frame.module, frame.node))
    return any(
        isinstance(outer, cst.Finally)
        for module, node in places
        for outer in module.source.parents(node)
    )
