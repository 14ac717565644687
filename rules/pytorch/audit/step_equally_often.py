"""Find loops that one process goes round more often than another.

What:
    A loop over a share that each process cuts out for itself, ``items[rank::world_size]``, and in
    which the processes wait for each other.

Why:
    Unless the number of items happens to be a multiple of the number of processes, some get one
    item more. In the last round they wait for the others, which have left the loop.

Before:
    for batch in batches[rank::world_size]:
        loss = model(batch).mean()
        loss.backward()

After:
    count = len(batches) // world_size * world_size
    for batch in batches[:count][rank::world_size]:
        loss = model(batch).mean()
        loss.backward()

Refuses when:
    never: it is a warning, as the number may be a multiple.

Source:
    https://pytorch.org/tutorials/advanced/generic_join.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.audit.model import Audit
from transpile.audit.ranks import Ranks
from transpile.facts.events import Event, Loop
from transpile.facts.values import Constant, External, Opaque, Value, Values
from transpile.plan.graph import called_names, method_calls, walk_back
from transpile.rule import Remark
from transpile.rules.pytorch.audit._data import SAMPLER
from transpile.rules.pytorch.audit._meetings import meetings

CODES = {"AU109": "a loop may go round more often on one process than on another"}
ONLY_WARNS = True
#: What cuts something into as many pieces as it is told.
PIECES = frozenset({"chunk", "tensor_split", "array_split"})
JOINS = frozenset({"torch.distributed.algorithms.Join", "torch.distributed.algorithms.join.Join"})


def decide(audit: Audit) -> Iterator[Remark]:
    """One remark for each such loop."""
    if any(joins(event) for event in audit.facts.calls):
        return
    ranks = Ranks(audit.vocabulary)
    iterated = {id(e.node): e for e in audit.facts.iterations}
    seen: set[int] = set()
    for meeting in meetings(audit, audit.first):
        for frame in meeting.event.stack:
            event = iterated.get(id(frame.node)) if isinstance(frame, Loop) else None
            if event is None or id(event.node) in seen:
                continue
            if any(cut(audit, ranks, value) for value in walk_back(event.callee, enters)):
                seen.add(id(event.node))
                yield Remark.warn(
                    "AU109",
                    (
                        event.module,
                        event.node.iter if isinstance(event.node, cst.For) else event.node,
                    ),
                    "each process goes over a part that it cuts out for itself, and one part may "
                    f"be longer than another: then some wait in the {meeting.word} for ever",
                    "cut or fill up the data to a multiple of the number of processes first, or "
                    "use a DistributedSampler",
                )


def joins(event: Event) -> bool:
    """Whether processes that have nothing left shadow the others."""
    return any(
        (isinstance(c, External) and c.name in JOINS)
        or (isinstance(c, Opaque) and c.name == "join" and not event.arguments.items)
        for c in event.callee
    )


def enters(value: Value) -> bool:
    """Whether what a value is made of decides how long it is."""
    names = called_names(value)
    return SAMPLER not in names


def cut(audit: Audit, ranks: Ranks, value: Value) -> bool:
    """Whether a value is every n-th of something, beginning with the process's number."""
    if not isinstance(value, Opaque):
        return False
    if "builtins.range" in called_names(value):
        items = value.arguments.items
        return (
            len(items) == 3
            and ranks.decide(items[0].values)
            and not plain(items[2].values)
            and not rounded(items[1].values)
        )
    if value.kind != "item" or not isinstance(value.node, cst.Subscript):
        return False
    for element in value.node.slice:
        part = element.slice
        if isinstance(part, cst.Slice) and part.lower is not None and part.step is not None:
            if ranks.decide(audit.facts.values_of(part.lower)):
                return not any(shortened(base) for base in value.operands[0])
    return False


def plain(values: Values) -> bool:
    """Whether values are one written number."""
    return len(values) == 1 and type(values[0]) is Constant


def shortened(value: Value) -> bool:
    """Whether a value is a part of another up to some end, or parts, of a multiple in number."""
    if isinstance(value, Opaque) and any(name in PIECES for name, _ in method_calls(value)):
        return any(rounded(item.values) for item in value.arguments.items)
    if not isinstance(value, Opaque) or not isinstance(value.node, cst.Subscript):
        return False
    return any(
        isinstance(e.slice, cst.Slice) and e.slice.upper is not None for e in value.node.slice
    )


def rounded(values: Values) -> bool:
    """Whether a number was made a multiple of another."""
    return any(
        isinstance(value, Opaque) and value.name in ("Multiply", "Subtract", "FloorDivide")
        for value in values
    )
