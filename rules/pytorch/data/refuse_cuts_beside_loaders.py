"""Refuse rows that a training step cuts out of data beside the batches of a loader.

What:
    Rows that a step takes from a tensor by a counter, ``targets[i * 12 : (i + 1) * 12]``, while a
    loader gives it its samples, are an error.

Why:
    A process has every so manieth sample of a batch from the loader, and all of its rows from the
    tensor: they do not belong together, and often are not as many.

Before:
    for i, (x,) in enumerate(train_loader):
        loss = criterion(model(x), targets[i * 12 : (i + 1) * 12])

After:
    for x, target in DataLoader(TensorDataset(inputs, targets), batch_size=12):
        loss = criterion(model(x), target)

Refuses when:
    the bounds of a slice in the training step follow a counter, and a loss is made of it.

Source:
    https://pytorch.org/docs/stable/data.html#torch.utils.data.distributed.DistributedSampler
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import Constant, Values
from transpile.facts.walk import descendants
from transpile.plan.data.batch_size_uses import reached_in_steps
from transpile.plan.model import Backward, Plan
from transpile.quantity.asking import Kind, quantity
from transpile.rule import Answer, Ruling

#: Where calls are sharded, every rank has the whole batch.
WAYS = ("data",)
CODES = {"PT239": "rows are cut out of data beside the batches of a loader"}


def decide(plan: Plan) -> Iterator[Answer]:
    """One refusal for each place that cuts out rows."""
    seen: set[int] = set()
    for backward in plan.backwards:
        if backward.event.detached or not backward.loaders:
            continue
        for module, node in slices(backward):
            if id(node) not in seen and cuts_rows(plan, node):
                seen.add(id(node))
                yield Ruling.refuse(
                    "PT239",
                    (module, node),
                    "these rows are cut out by a counter, where a loader gives each process its "
                    "share of the samples: they do not belong together",
                    "put them into the data set of the loader",
                )


def slices(backward: Backward) -> Iterator[tuple[Module, cst.Subscript]]:
    """The subscripts in the loop over batches."""
    if backward.batch_loop is not None:
        for node in descendants(backward.batch_loop.node):
            if isinstance(node, cst.Subscript):
                yield backward.batch_loop.module, node


def cuts_rows(plan: Plan, node: cst.Subscript) -> bool:
    """Whether a subscript gives rows of a tensor, by bounds that a counter moves, to a loss."""
    first = node.slice[0].slice
    if not isinstance(first, cst.Slice) or first.lower is None:
        return False
    lower = plan.facts.values_of(first.lower)
    if not is_counter(plan, lower) or quantity(plan, plan.facts.values_of(node.value)).kind not in (
        Kind.EQUAL,
        Kind.NOTHING,
    ):
        return False
    reached = reached_in_steps(plan)
    return any(id(value) in reached for value in plan.facts.values_of(node))


def is_counter(plan: Plan, values: Values) -> bool:
    """Whether a bound changes from step to step, and not with the batch."""
    if not values or all(isinstance(value, Constant) for value in values):
        return False
    found = quantity(plan, values)
    return bool(found.independent and found.degree == 0)
