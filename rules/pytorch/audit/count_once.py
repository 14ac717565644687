"""Find evaluations that count some samples twice.

What:
    A loader that nothing is trained on and that has a ``DistributedSampler``, which gives every
    process as many samples as any other. Where a data set is written out and its length fits 8
    processes, nothing is said.

Why:
    The sampler fills up the shares with copies of the first samples. Unless the number of
    processes divides that of the samples, the copies count twice in every sum and count over the
    processes: accuracies differ in their last digits between clusters of different sizes.

Before:
    sampler = DistributedSampler(valid_set, shuffle=False)

After:
    shard = Subset(valid_set, range(rank, len(valid_set), world_size))

Refuses when:
    never: it is a note.

Source:
    https://pytorch.org/docs/stable/data.html#torch.utils.data.distributed.DistributedSampler
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.audit.model import Audit
from transpile.facts.values import Constant, Opaque, Sequence, Values, only_constant
from transpile.plan.graph import called_names
from transpile.rule import Remark
from transpile.rules.pytorch.audit._data import engines, loaders_of, without_gradients
from transpile.rules.pytorch.audit._splits import splits_calls

CODES = {"AU604": "an evaluation counts some samples twice"}
ONLY_WARNS = True
#: A length that this divides is one that the common numbers of processes divide, too.
COMMON = 8
MADE = frozenset(f"torch.{name}" for name in ("randn", "rand", "zeros", "ones", "randint", "empty"))


def decide(audit: Audit) -> Iterator[Remark]:
    """One remark for each sampler."""
    if engines(audit) or splits_calls(audit) or not audit.plan.trained_models:
        return
    loaders = loaders_of(audit)
    seen: set[int] = set()
    for loader in audit.plan.loaders:
        if not loader.iterations or (loader.training and not without_gradients(audit, loader)):
            continue
        for sampler in loaders.samplers(loader):
            drops = sampler.arguments.get("drop_last", 5)
            data = sampler.arguments.get("dataset", 0)
            count = length(data.values) if data is not None else None
            if drops is not None or (count is not None and count % COMMON == 0):
                continue
            if id(sampler.node) not in seen:
                seen.add(id(sampler.node))
                yield Remark.note(
                    "AU604",
                    (sampler.module, sampler.node),
                    "this sampler fills up the shares of an evaluation with copies, which count "
                    "twice unless the number of processes divides that of the samples",
                    "give each process its part of the indices, as in range(rank, len(data), "
                    "world_size), and all-reduce sums and counts",
                )


def length(values: Values) -> int | None:
    """How many samples a data set of written numbers has; None for others."""
    value = values[0] if len(values) == 1 else None
    if not isinstance(value, Opaque):
        return None
    items = [item.values for item in value.arguments.items if item.keyword is None]
    names = called_names(value)
    if "torch.utils.data.TensorDataset" in names and items:
        return length(items[0])
    if not MADE.isdisjoint(names):
        for given in items:
            first = given[0] if len(given) == 1 else None
            size = only_constant(first.elements[0]) if is_filled(first) else first  # type: ignore[union-attr]
            randint = "torch.randint" in names
            if isinstance(size, Constant) and isinstance(size.value, int):
                if randint and not is_filled(first):
                    continue
                return size.value
        return None
    if value.kind == "item" and len(value.operands[0]) == 1:
        split = value.operands[0][0]
        place = only_constant(value.index)
        if isinstance(split, Opaque) and place is not None and isinstance(place.value, int):
            if "torch.utils.data.random_split" in called_names(split):
                lengths = split.arguments.get("lengths", 1)
                parts = lengths.values[0] if lengths is not None and lengths.values else None
                if isinstance(parts, Sequence) and place.value < len(parts.elements):
                    part = only_constant(parts.elements[place.value])
                    if part is not None and isinstance(part.value, int):
                        return part.value
    return None


def is_filled(value: object) -> bool:
    """Whether a value is a list or tuple with elements that are known."""
    return isinstance(value, Sequence) and bool(value.elements)
