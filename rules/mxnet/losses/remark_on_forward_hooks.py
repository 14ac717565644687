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

import libcst as cst

from transpile.facts.walk import descendants
from transpile.plan.hooks.forward import ADVICE, REASON, forward_hook
from transpile.plan.hooks.kept_by_models import kept_by_models
from transpile.plan.model import Plan
from transpile.rule import Answer, Remark
from transpile.rules.mxnet.effects._vocabulary import VOCABULARY
from transpile.rules.mxnet.losses._numbers import numbers_of

CODES = {"MX415": "a forward hook or a model keeps of one process's share of every batch"}
#: Where calls are split, models with hooks are computed whole.
WAYS = ("data",)
HOOKS = frozenset({"register_forward_hook", "register_forward_pre_hook"})


def decide(plan: Plan) -> Iterator[Answer]:
    """A warning for the first hook of a script that trains, and for what its models keep."""
    found = forward_hook(plan, HOOKS) if plan.trained_models else None
    if found is not None:
        yield Remark.warn("MX415", found, REASON, ADVICE)
    settled = {id(one) for one in numbers_in_place(plan)}
    for kept in kept_by_models(plan):
        if settled.isdisjoint(id(each) for each in descendants(kept.node)):
            yield Remark.warn(
                "MX415",
                (kept.module, kept.node),
                f"what '{kept.owner}' keeps in '{kept.word}' for its next calls is made of this "
                "process's share of every batch",
                "keep it in the training loop, of a mean or a sum over the batch, or compare a run "
                "with one process",
            )


def numbers_in_place(plan: Plan) -> Iterator[cst.CSTNode]:
    """The expressions that are taken over all processes where they stand."""
    for number in numbers_of(plan, VOCABULARY).chosen.values():
        yield number.node
