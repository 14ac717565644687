"""Warn of forward hooks, which see one process's share of every batch.

What:
    A hook that runs with the forward pass of a layer is warned of where it is registered.

Why:
    What a hook keeps, counts or prints is made of the samples of one process. Nothing flows from
    the batch to where the script reads it again that could be followed and reduced.

Before:
    kept = []
    net.register_forward_hook(lambda block, given, out: kept.append(out.mean().asscalar()))
    for data, label in loader:
        with autograd.record():
            loss = loss_fn(net(data), label)
        loss.backward()
        trainer.step(64)

After:
    kept = []
    for data, label in loader:
        with autograd.record():
            out = net(data)
            loss = loss_fn(out, label)
        kept.append(out.mean().asscalar())
        loss.backward()
        trainer.step(64)

Refuses when:
    never: it is a warning, as for what else training keeps of one process's share.

Source:
    https://mxnet.apache.org/versions/1.9.1/api/python/docs/api/gluon/block.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.plan.hooks.forward import ADVICE, REASON, forward_hook
from transpile.plan.model import Plan
from transpile.rule import Answer, Remark

CODES = {"MX415": "a forward hook sees one process's share of every batch"}
#: Where calls are split, models with hooks are computed whole.
WAYS = ("data",)
HOOKS = frozenset({"register_forward_hook", "register_forward_pre_hook"})


def decide(plan: Plan) -> Iterator[Answer]:
    """A warning for the first hook of a script that trains."""
    found = forward_hook(plan, HOOKS) if plan.trained_models else None
    if found is not None:
        yield Remark.warn("MX415", found, REASON, ADVICE)
