"""Find batches that every process draws alike.

What:
    Training on batches whose places in the data are drawn by chance, without a loader, where the
    random numbers are seeded with the same number on every process.

Why:
    All processes then draw the same places and compute the same gradient: N processes do the work
    of one, and the global batch is N copies of one share.

Before:
    torch.manual_seed(1337)
    places = torch.randint(len(data) - size, (batch_size,))

After:
    torch.manual_seed(1337 + dist.get_rank())
    places = torch.randint(len(data) - size, (batch_size,))

Refuses when:
    never: it is a warning.

Source:
    https://pytorch.org/docs/stable/notes/randomness.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.audit.model import Audit
from transpile.audit.ranks import Ranks
from transpile.facts.events import Event
from transpile.facts.values import Constant, External, Opaque, Value
from transpile.plan.graph import called_names, walk_back
from transpile.plan.roles.surroundings import gradients_off
from transpile.rule import Remark
from transpile.rules.pytorch.audit._data import engines
from transpile.rules.pytorch.audit._hand_made import is_read, is_the_same_on_all
from transpile.rules.pytorch.audit._meetings import wraps_of
from transpile.rules.pytorch.audit._splits import splits_calls
from transpile.rules.pytorch.audit.split_alike import seeds_all

CODES = {"AU208": "every process draws the same batches"}
ONLY_WARNS = True
#: What draws places in data, to the package whose seed counts.
PLACES = {
    "torch.randint": "torch.",
    "torch.randperm": "torch.",
    "numpy.random.randint": "numpy.random.",
    "numpy.random.choice": "numpy.random.",
    "numpy.random.permutation": "numpy.random.",
    "random.sample": "random.",
    "random.choices": "random.",
}


def decide(audit: Audit) -> Iterator[Remark]:
    """One remark for the first draw that is the same on every process."""
    plan = audit.plan
    if engines(audit) or splits_calls(audit) or plan.training_loaders:
        return
    if not wraps_of(audit, audit.first):
        return
    ranks = Ranks(audit.vocabulary)
    events = {id(value): event for event in audit.facts.calls for value in event.result}
    for model in plan.trained_models:
        for forward in model.forwards:
            given = tuple(v for item in forward.arguments.items for v in item.values)
            places = [one for value in walk_back(given) for one in places_of(audit, value)]
            if any(ranks.tells(value) for value in places):
                return
            for value in places:
                event = events.get(id(value))
                if event is not None and is_drawn_alike(audit, ranks, value, event):
                    yield Remark.warn(
                        "AU208",
                        (event.module, event.node),
                        "every process draws the same places here, as the random numbers have the "
                        "same seed on all: N processes train on the same batches",
                        "seed them with the process's number added, or draw each process's part",
                    )
                    return
    yield from read_alike(audit, ranks)


def read_alike(audit: Audit, ranks: Ranks) -> Iterator[Remark]:
    """One remark for the first batch that is read from the same place on every process."""
    table = audit.plan.table
    for model in audit.plan.trained_models:
        for forward in model.forwards:
            given = tuple(v for item in forward.arguments.items for v in item.values)
            if gradients_off(forward.stack, table) or not audit.on_all_ways(forward):
                continue
            if any(is_drawn(one) for value in walk_back(given) for one in places_of(audit, value)):
                continue
            if is_read(given) and is_the_same_on_all(audit, ranks, given):
                yield Remark.warn(
                    "AU208",
                    forward,
                    "every process reads this batch from the same place in the data: N processes "
                    "train on the same batches",
                    "begin at another place on each process, and go on by N batches",
                )
                return


def is_drawn(value: Value) -> bool:
    """Whether a value is places in data that are drawn: processes have seeds of their own."""
    return not PLACES.keys().isdisjoint(called_names(value))


def is_drawn_alike(audit: Audit, ranks: Ranks, value: Value, event: Event) -> bool:
    """Whether a value is places in data that are drawn with a seed that all processes share."""
    name = next((name for name in called_names(value) if name in PLACES), "")
    if not name or event.arguments.keyword("generator") is not None:
        return False
    seeds = [e for e in audit.facts.calls if e.order < event.order and seeds_all(e, PLACES[name])]
    if not seeds:
        return False
    items = seeds[-1].arguments.items
    return bool(items) and all(
        isinstance(value, Constant) or not ranks.depend((value,))
        for item in items
        for value in item.values
    )


def places_of(audit: Audit, value: Value) -> list[Value]:
    """What the places are made of at which a value is picked out of another."""
    if (
        not isinstance(value, Opaque)
        or value.kind != "item"
        or External("os.environ") in (value.operands[0])
    ):
        return []
    found = [*value.index]
    for element in value.node.slice if isinstance(value.node, cst.Subscript) else ():
        if isinstance(element.slice, cst.Slice) and element.slice.lower is not None:
            found.extend(audit.facts.values_of(element.slice.lower))
    return list(walk_back(tuple(found)))
