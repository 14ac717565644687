"""Warn of forward hooks, which see one process's share of every batch.

What:
    A hook that runs with the forward pass of a layer is warned of where it is registered.

Why:
    What a hook keeps, counts or prints is made of the samples of one process. Nothing flows from
    the batch to where the script reads it again that could be followed and reduced.

Before:
    kept = []
    model.register_forward_post_hook(lambda layer, given, out: kept.append(float(out.mean())))
    for x, y in train_loader:
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()

After:
    kept = []
    for x, y in train_loader:
        out = model(x)
        kept.append(float(out.mean()))
        loss = criterion(out, y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()

Refuses when:
    never: it is a warning, as for what else training keeps of one process's share.

Source:
    https://www.paddlepaddle.org.cn/documentation/docs/en/api/paddle/nn/Layer_en.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.plan.hooks.forward import ADVICE, REASON, forward_hook
from transpile.plan.model import Plan
from transpile.rule import Answer, Remark

CODES = {"PD415": "a forward hook sees one process's share of every batch"}
#: Where calls are split, models with hooks are computed whole.
WAYS = ("data",)
HOOKS = frozenset({"register_forward_post_hook", "register_forward_pre_hook"})


def decide(plan: Plan) -> Iterator[Answer]:
    """A warning for the first hook of a script that trains."""
    found = forward_hook(plan, HOOKS) if plan.trained_models else None
    if found is not None:
        yield Remark.warn("PD415", found, REASON, ADVICE)
