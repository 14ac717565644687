"""Refuse scripts that exchange parts of a model while it is trained.

What:
    Where a script puts new layers in the place of others once the training runs, as pruning and
    growing networks do, it is refused.

Why:
    Which parts go is mostly decided by activations and gradients, of which each process has its
    own: the models would differ from then on. Nor does a wrap know of the new parameters.

Before:
    for epoch in range(3):
        train(model)
        model._modules["layer"] = smaller(model.layer)

After:
    model._modules["layer"] = smaller(model.layer)
    for epoch in range(3):
        train(model)

Refuses when:
    a part is exchanged behind the place where the processes get random numbers of their own.

Source:
    https://pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.values import Opaque
from transpile.plan.model import Plan
from transpile.result import Verdict
from transpile.rule import Answer, Change, Ruling, Rulings
from transpile.rules.pytorch._random_draws import Draws

CODES = {"PT316": "parts of a model are exchanged while it is trained"}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each place that exchanges parts during the training."""
    if all(backward.event.detached for backward in plan.backwards):
        return
    draws = Draws(plan)
    seen: set[int] = set()
    for event in plan.facts.events:
        if event.kind != "store" or event.name != "[]" or event.detached:
            continue
        parts = any(
            isinstance(value, Opaque) and value.kind == "attribute" and value.name == "_modules"
            for value in event.callee
        )
        if parts and draws.is_late(event) and id(event.node) not in seen:
            seen.add(id(event.node))
            yield Ruling(
                "PT316",
                Verdict.REFUSE,
                event.module,
                event.node,
                "parts of a model are exchanged here while it is trained: each process would "
                "decide by what it has seen of the data, and the models would differ",
                "let rank 0 decide which parts go, send that to all processes, and wrap the model "
                "anew",
            )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """Nothing is changed."""
    return iter(())
