"""Batches that a script cuts out of its data without a loader, by the process's number or not."""

from __future__ import annotations

from transpile.audit.model import Audit
from transpile.audit.ranks import Ranks
from transpile.facts.values import Instance, Opaque, Unknown, Value, Values
from transpile.plan.graph import called_names, walk_back
from transpile.plan.query import query
from transpile.plan.roles.surroundings import gradients_off
from transpile.records import dataclass
from transpile.rules.pytorch.audit._data import but_for_devices, index_of, is_plain

#: What reads data from a file.
READS = frozenset(
    {
        "builtins.open", "numpy.load", "numpy.memmap", "numpy.fromfile", "torch.load",
        "pickle.load", "torch.from_file",
    }
)  # fmt: skip


@dataclass(frozen=True)
class Parts:
    """What processes cut out for themselves, by its identity.

    Args:
        trained: for training.
        evaluated: without gradients.
    """

    trained: frozenset[int] = frozenset()
    evaluated: frozenset[int] = frozenset()


@query
def cut_by_hand(audit: Audit) -> Parts:
    """The parts of data that models are given, where no loader gives any."""
    if audit.plan.training_loaders:
        return Parts()
    ranks = Ranks(audit.vocabulary)
    found: dict[bool, set[int]] = {True: set(), False: set()}
    for model in audit.plan.trained_models:
        for forward in model.forwards:
            learns = not gradients_off(forward.stack, audit.plan.table)
            for value in walk_back(given_to(forward.arguments.items)):
                if is_own_part(audit, ranks, value):
                    found[learns].add(id(value))
    return Parts(frozenset(found[True]), frozenset(found[False]))


def given_to(items: object) -> Values:
    """What a call is given."""
    return tuple(v for item in items for v in item.values)  # type: ignore[attr-defined]


def is_own_part(audit: Audit, ranks: Ranks, value: Value) -> bool:
    """Whether a value is picked out of another by the number of the process."""
    return (
        isinstance(value, Opaque)
        and value.kind == "item"
        and any(map(ranks.tells, walk_back(index_of(audit, value))))
    )


def is_read(values: Values) -> bool:
    """Whether values are read from files."""
    return any(not READS.isdisjoint(called_names(value)) for value in walk_back(values))


def is_the_same_on_all(audit: Audit, ranks: Ranks, values: Values) -> bool:
    """Whether data is read and cut in a way that nothing of the process enters into."""
    for value in but_for_devices(values):
        if isinstance(value, (Unknown, Instance)) or ranks.tells(value):
            return False
        if isinstance(value, Opaque):
            if value.kind == "parameter":
                return False
            names = called_names(value)
            if any(not is_plain(name) or "rand" in name for name in names):
                return False
            if value.kind == "item" and any(map(ranks.tells, walk_back(index_of(audit, value)))):
                return False
    return True
