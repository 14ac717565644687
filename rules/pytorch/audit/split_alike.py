"""Find splits of the data that each process draws for itself.

What:
    ``random_split`` and its like where nothing has seeded the random numbers, or where the seed
    depends on the process's number.

Why:
    Each process then has another training set and another validation set: what one process
    validates on, another trains on, and a distributed sampler shards sets that differ.

Before:
    train, valid = random_split(dataset, [900, 100])

After:
    train, valid = random_split(dataset, [900, 100], generator=torch.Generator().manual_seed(0))

Refuses when:
    the random numbers of the split differ between processes.

Source:
    https://pytorch.org/docs/stable/data.html#torch.utils.data.random_split
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.audit.model import Audit
from transpile.audit.ranks import Ranks
from transpile.facts.events import Event
from transpile.facts.values import Constant, External, Unknown
from transpile.rule import Remark

CODES = {"AU205": "each process draws a split of the data for itself"}
#: Functions that split, to the argument that fixes how, and the seed that counts without it.
SPLITS = {
    "torch.utils.data.random_split": ("generator", "torch."),
    "sklearn.model_selection.train_test_split": ("random_state", "numpy.random."),
    "sklearn.model_selection.KFold": ("random_state", "numpy.random."),
    "sklearn.model_selection.StratifiedKFold": ("random_state", "numpy.random."),
}
SEEDING = ("manual_seed", "seed", "set_rng_state", "set_state")
#: Of these, what splits at random only where it is told to.
ASKED = frozenset({"sklearn.model_selection.KFold", "sklearn.model_selection.StratifiedKFold"})


def decide(audit: Audit) -> Iterator[Remark]:
    """One remark for each split that differs between processes."""
    ranks = Ranks(audit.vocabulary)
    seen: set[int] = set()
    for event in audit.facts.calls_to(*SPLITS):
        if id(event.node) in seen or not audit.on_all(event.node):
            continue
        seen.add(id(event.node))
        why = differs(audit, ranks, event)
        if why:
            yield Remark.error(
                "AU205",
                event,
                f"{why}: each process splits the data in its own way, and trains on what another "
                "one validates on",
                "give the split a generator with a fixed seed, the same on every process",
            )


def differs(audit: Audit, ranks: Ranks, event: Event) -> str:
    """Why the random numbers of a split differ; empty where they do not."""
    name = next(c.name for c in event.callee if isinstance(c, External) and c.name in SPLITS)
    keyword, prefix = SPLITS[name]
    given = event.arguments.keyword(keyword)
    if given is None and event.arguments.unknown_because:
        return ""
    if name in ASKED or name.startswith("sklearn."):
        shuffle = event.arguments.keyword("shuffle")
        asked = shuffle is not None and shuffle.values == (Constant(True),)
        refused = shuffle is not None and shuffle.values == (Constant(False),)
        if refused or (name in ASKED and not asked):
            return ""
    if given is not None and given.values != (Constant(None),):
        depends = ranks.depend(given.values)
        return "its generator is seeded with the process's number" if depends else ""
    seeds = [e for e in audit.facts.calls if e.order < event.order and seeds_all(e, prefix)]
    if not seeds:
        return "nothing has seeded its random numbers"
    if any(ranks.depend(item.values) for item in seeds[-1].arguments.items):
        return "its random numbers are seeded with the process's number"
    return ""


def seeds_all(event: Event, prefix: str) -> bool:
    """Whether a call seeds the random numbers of a package, or may."""
    for callee in event.callee:
        if isinstance(callee, Unknown):
            return True
        if not isinstance(callee, External):
            continue
        last = callee.name.rpartition(".")[2]
        own = callee.name.startswith(("torch.", "numpy.", "random."))
        if own and callee.name.startswith(tuple(f"{prefix}{word}" for word in SEEDING)):
            return True
        if not own and "seed" in last:
            return True
    return False
