"""Warn of forward hooks and of models that keep something: of one process's share of batches.

What:
    A hook that runs with the forward pass of a layer is warned of where it is registered, and a
    statement of a forward pass that keeps something of the samples for the next call, such as a
    running mean, where it stands.

Why:
    What a hook or a pass keeps, counts or prints is made of the samples of one process. Nothing
    flows from the batch to where the script reads it again that could be followed and reduced.

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

import libcst as cst

from transpile.facts.walk import descendants
from transpile.plan.hooks.forward import ADVICE, REASON, forward_hook
from transpile.plan.hooks.kept_by_models import kept_by_models
from transpile.plan.model import Plan
from transpile.rule import Answer, Remark
from transpile.rules.paddle.losses._numbers import numbers

CODES = {"PD415": "a forward hook or a model keeps of one process's share of every batch"}
#: Where calls are split, models with hooks are computed whole.
WAYS = ("data",)
HOOKS = frozenset({"register_forward_post_hook", "register_forward_pre_hook"})


def decide(plan: Plan) -> Iterator[Answer]:
    """A warning for the first hook of a script that trains, and for what its models keep."""
    found = forward_hook(plan, HOOKS) if plan.trained_models else None
    if found is not None:
        yield Remark.warn("PD415", found, REASON, ADVICE)
    settled = {id(one) for one in numbers_in_place(plan)}
    for kept in kept_by_models(plan):
        if settled.isdisjoint(id(each) for each in descendants(kept.node)):
            yield Remark.warn(
                "PD415",
                (kept.module, kept.node),
                f"what '{kept.owner}' keeps in '{kept.word}' for its next calls is made of this "
                "process's share of every batch",
                "keep it in the training loop, of a mean or a sum over the batch, or compare a run "
                "with one process",
            )


def numbers_in_place(plan: Plan) -> Iterator[cst.CSTNode]:
    """The expressions that are taken over all processes where they stand."""
    found = numbers(plan)
    for one in (*found.leaves.values(), *found.doubts.values()):
        yield one.node
