"""Say where the axis of the samples is squeezed away if a process has one sample.

What:
    A ``squeeze`` of a batch that names no axis is noted, where each process has a share of it.

Why:
    It takes all axes of length 1 away: also that of the samples, where there is one. A last batch
    of a few samples is one sample for each process.

Before:
    scores = model(images).squeeze()

After:
    scores = model(images).squeeze(-1)

Refuses when:
    never: a batch of one sample is squeezed so in one process, too. Where calls of the model are
    split, every process has the scores of whole batches.

Source:
    https://pytorch.org/docs/stable/generated/torch.squeeze.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.events import Event
from transpile.facts.values import Constant, External, Opaque, Values
from transpile.plan.model import Plan
from transpile.quantity.asking import Kind, quantity
from transpile.rule import Answer, Remark

#: Where calls are sharded, every rank has the whole batch.
WAYS = ("data",)
CODES = {"PT241": "the axis of the samples is squeezed away where a process has one sample"}


def decide(plan: Plan) -> Iterator[Answer]:
    """One note for each such place."""
    if plan.options.batch_size != "global" or drops_short_batches(plan):
        return
    seen: set[int] = set()
    for event in plan.facts.calls:
        if event.detached or id(event.node) in seen or not plan.in_training(event.stack):
            continue
        found = quantity(plan, squeezed(event))
        if found.kind is Kind.SAMPLE and found.dim is not None and found.content != "one":
            seen.add(id(event.node))
            yield Remark.note(
                "PT241",
                event,
                "this takes the axis of the samples away, too, where a process has one sample, as "
                "it may have of the last batch",
                "name the axis, as in squeeze(-1), or drop the last batch",
            )


def squeezed(event: Event) -> Values:
    """What a call squeezes without naming an axis; empty for other calls."""
    given = event.arguments
    if given.unknown_because:
        return ()
    for callee in event.callee:
        if isinstance(callee, External) and callee.name == "torch.squeeze":
            return given.items[0].values if len(given.items) == 1 else ()
        if isinstance(callee, Opaque) and callee.kind == "attribute" and callee.name == "squeeze":
            return () if given.items else callee.operands[0]
    return ()


def drops_short_batches(plan: Plan) -> bool:
    """Whether all batches of the training have the size that is asked for."""
    dropping = [loader.argument("drop_last") for loader in plan.training_loaders]
    return bool(dropping) and all(
        argument is not None and argument.values == (Constant(True),) for argument in dropping
    )
