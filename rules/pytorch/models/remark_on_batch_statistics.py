"""Warn of models whose samples see each other.

What:
    A model that combines single samples with a mean, a sum or another statistic of the batch, and
    a layer that takes the dimension of the samples for time (``batch_first`` left out), are
    warned of, and so is instance norm that keeps running statistics.

Why:
    Each process calls the model with its share of the batch. A statistic of that share is not that
    of the whole batch, so that every sample gets another result than with one process. Batch norm
    alone has a form that takes its statistics over all processes.

Before:
    def forward(self, x):
        return self.layer(x - x.mean(0))

After:
    def forward(self, x):
        return self.layer(x - self.mean)

Refuses when:
    never: it is a warning, as for losses that compare the samples of a batch.

Source:
    https://pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
    (each process has a share of the batch); https://pytorch.org/docs/stable/generated/
    torch.nn.TransformerEncoderLayer.html on ``batch_first``.
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.values import Constant, Opaque
from transpile.plan.model import Plan
from transpile.plan.models.learning import reached_by_losses
from transpile.quantity.models.couplings import couplings
from transpile.rule import Answer, Remark

#: Where calls are sharded, every rank has the whole batch.
WAYS = ("data",)
CODES = {
    "PT408": "a model combines the samples of a batch",
    "PT411": "instance norm keeps running statistics of one process's share of the batches",
}
INSTANCE_NORMS = tuple(f"torch.nn.InstanceNorm{dims}d" for dims in (1, 2, 3))


def decide(plan: Plan) -> Iterator[Answer]:
    """A warning for each place in a model where samples come to depend on each other."""
    seen: set[int] = set()
    reached = reached_by_losses(plan)
    for value, why in couplings(plan):
        if id(value.node) not in seen and id(value) in reached:
            seen.add(id(value.node))
            yield warning(value, why)
    yield from kept_statistics(plan)


def kept_statistics(plan: Plan) -> Iterator[Remark]:
    """A warning for each instance norm that keeps statistics, which no wrap averages."""
    seen: set[int] = set()
    for event in plan.facts.calls_to(*INSTANCE_NORMS):
        kept = event.arguments.get("track_running_stats", 4)
        if kept is None or Constant(True) not in kept.values or id(event.node) in seen:
            continue
        seen.add(id(event.node))
        yield Remark.warn(
            "PT411",
            event,
            "the running statistics that are kept here, and used in evaluation, are those of rank "
            "0's share of the batches",
            "leave out track_running_stats, or average its buffers over the processes",
        )


def warning(value: Opaque, why: str) -> Remark:
    """What is said of one place."""
    return Remark.warn(
        "PT408",
        value,
        f"the model gives each sample another result where it has a share of the batch: {why}",
        "keep the samples apart, or compare a run with one process",
    )
