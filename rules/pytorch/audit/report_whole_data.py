"""Find numbers of one process's share that are reported as if of all data.

What:
    What is printed, logged or tracked and was computed from an evaluation loader with a distributed
    sampler, without being taken over all processes on the way.

Why:
    Each process has evaluated a part. The accuracy that rank 0 prints is that of its part, and with
    it the best checkpoint is chosen.

Before:
    print(correct / total)

After:
    counts = torch.tensor([correct, total], device=device)
    dist.all_reduce(counts)
    print((counts[0] / counts[1]).item())

Refuses when:
    never: it is a warning.

Source:
    https://pytorch.org/docs/stable/distributed.html#torch.distributed.all_reduce
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.audit.model import Audit
from transpile.audit.ranks import Ranks
from transpile.facts.values import External, Instance, Opaque, Value, Values
from transpile.finding import Level
from transpile.plan.effect_search import find_effects
from transpile.plan.effects import Kind
from transpile.plan.graph import called_names, walk_back
from transpile.rule import Remark
from transpile.rules.pytorch._together import agreed_values, agreeing_calls
from transpile.rules.pytorch._vocabulary import VOCABULARY
from transpile.rules.pytorch.audit._data import engines, loaders_of

CODES = {"AU601": "a number of one process's share is reported as that of all data"}
ONLY_WARNS = True
REPORTS = (Kind.PRINT, Kind.LOG, Kind.CONSOLE, Kind.TRACK)
#: Collectives whose result is whole on one process at least.
GATHERING = ("torch.distributed.reduce", "torch.distributed.gather")
#: Packages whose numbers are taken over all processes by themselves.
REDUCING = ("torchmetrics.", "torcheval.", "evaluate.", "ignite.")
#: What says how large a result is, not what it is.
SIZES = frozenset({"len", "shape", "size", "dim", "ndim", "numel", "dtype", "device"})


def decide(audit: Audit) -> Iterator[Remark]:
    """One remark for each report."""
    if engines(audit):
        return
    parts = shared_out(audit)
    if not parts:
        return
    agreed = agreed_values(audit.plan) | gathered(audit)
    calls = agreeing_calls(audit.plan)
    ranks = Ranks(audit.vocabulary)

    def enters(value: Value) -> bool:
        if id(value) in agreed or isinstance(value, Instance):
            return False
        if isinstance(value, Opaque):
            if id(value.node) in calls or value.name in SIZES:
                return False
            if any(getattr(callee, "name", "") in SIZES for callee in value.callee):
                return False
            return not any(name.startswith(REDUCING) for name in called_names(value))
        return True

    for effect in find_effects(audit.plan, VOCABULARY):
        if effect.kind not in REPORTS or not audit.makes(effect.node)[0]:
            continue
        for event in effect.events:
            values = tuple(v for item in event.arguments.items for v in item.values)
            if any(ranks.tells(value) for value in walk_back(values, is_no_batch)):
                # It says which process it comes from.
                continue
            if any(is_part(value, parts) for value in walk_back(values, enters)):
                yield Remark(
                    "AU601",
                    Level.WARNING,
                    effect.module,
                    effect.node,
                    "what is reported here was computed on this process's share of the data alone",
                    "all-reduce sums and counts over the processes before dividing",
                )
                break


def shared_out(audit: Audit) -> frozenset[int]:
    """The loaders that nothing is trained on and that give each process its share."""
    loaders = loaders_of(audit)
    return frozenset(
        id(loader.value)
        for loader in audit.plan.loaders
        if not loader.training and loaders.samplers(loader)
    )


def gathered(audit: Audit) -> set[int]:
    """What collectives make whole on one process."""
    found: set[int] = set()
    for event in audit.facts.calls_to(*GATHERING):
        for item in event.arguments.items[:1]:
            found.update(map(id, item.values))
    for event in audit.facts.calls:
        if any(isinstance(c, External) and c.name in GATHERING for c in event.callee):
            found.update(map(id, event.result))
    return found


def is_no_batch(value: Value) -> bool:
    """Whether a value is computed, not drawn: which process draws is said to its sampler alone."""
    return not isinstance(value, Instance) and getattr(value, "kind", "") != "element"


def is_part(value: Value, loaders: frozenset[int]) -> bool:
    """Whether a value is a batch of one of some loaders."""
    if not isinstance(value, Opaque) or value.kind != "element":
        return False
    sources: Values = value.operands[0]
    return any(id(source) in loaders for source in walk_back(sources, iterates))


def iterates(value: Value) -> bool:
    """Whether a value goes over what it is made of."""
    return isinstance(value, Opaque) and value.kind == "operation"
