"""Warn of forward hooks, which see one process's share of every batch.

What:
    A hook that runs with the forward pass of a layer is warned of where it is registered.

Why:
    What a hook keeps, counts or prints is made of the samples of one process. Nothing flows from
    the batch to where the script reads it again that could be followed and reduced.

Before:
    acts = {}
    model.layer.register_forward_hook(lambda m, i, o: acts.update(mean=o.mean()))
    for x, y in train_loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
        print(acts["mean"].item())

After:
    for x, y in train_loader:
        optimizer.zero_grad()
        hidden = model.layer(x)
        criterion(hidden, y).backward()
        optimizer.step()
        print(hidden.mean().item())

Refuses when:
    never: it is a warning, as for what else training keeps of one process's share.

Source:
    https://pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.register_forward_hook
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.finding import Level
from transpile.plan.model import Plan
from transpile.rows.verdict import hook
from transpile.rule import Answer, Remark

CODES = {"PT415": "a forward hook sees one process's share of every batch"}
#: Where calls are split, models with hooks are computed whole.
WAYS = ("data",)


def decide(plan: Plan) -> Iterator[Answer]:
    """A warning for the first hook of a script that trains."""
    if not plan.trained_models:
        return
    found = hook(plan.facts)
    if found is not None and found.module is not None:
        yield Remark(
            "PT415",
            Level.WARNING,
            found.module,
            found.node,
            "a forward hook sees one process's share of every batch: what it keeps, counts or "
            "prints is not that of the whole batch",
            "take what is kept from what the model returns, or all-reduce it in the hook",
        )
