"""Refuse data sets that change while their loader lives.

What:
    A training set whose number of samples may change after its loader was made, and a training
    set or sampler that is changed by what training batches give, or chosen by it, is an error.

Why:
    A ``DistributedSampler`` counts the samples once, when it is made: a set that grows ends in an
    error, one that shrinks is drawn from twice. What a training step writes for the samples of its
    batch (weights, labels, losses), one process alone has written, for its own share.

Before:
    loader = DataLoader(pool, batch_size=32)
    for epoch in range(3):
        for x, y in loader:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        pool.keep = pool.keep[:-8]

After:
    for epoch in range(3):
        loader = DataLoader(pool, batch_size=32)
        for x, y in loader:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        pool.keep = pool.keep[:-8]

Refuses when:
    the number of samples, or what decides their order or content, changes that way.

Source:
    https://pytorch.org/docs/stable/data.html#torch.utils.data.distributed.DistributedSampler
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.plan.data.changing_data import Changing, changes_while_drawn
from transpile.plan.data.sources import sites
from transpile.plan.model import Plan
from transpile.rule import Answer, Ruling
from transpile.rules.pytorch.agreement._decisions import Decisions
from transpile.rules.pytorch.agreement._divergence import Cause

CODES = {"PT218": "a data set changes while its loader lives"}
#: Where calls are sharded, every rank draws the same batches from the same data.
WAYS = ("data",)


def decide(plan: Plan) -> Iterator[Answer]:
    """One refusal for each place that changes the data of a training loader."""
    seen: set[int] = set()
    for site in sites(plan):
        for loader in site.loaders:
            for change in changes_while_drawn(plan, loader):
                if id(change.event.node) not in seen:
                    seen.add(id(change.event.node))
                    yield refusal(plan, change)
    divergence = Decisions(plan).divergence
    for site in sites(plan):
        for name in ("dataset", "sampler", "batch_sampler"):
            given = site.loader.argument(name)
            if given is None or not isinstance(given.node, cst.BaseExpression):
                continue
            if divergence.cause(site.module, given.node) is Cause.BATCH:
                yield Ruling.refuse(
                    "PT218",
                    (site.module, given.node),
                    "what training batches gave decides here what the training loader draws: each "
                    "process knows only what its own share of them has given",
                    "gather what the batches give over all processes before it decides",
                )


def refusal(plan: Plan, change: Changing) -> Ruling:
    """What is said of one place."""
    if change.length:
        why = (
            "the number of samples of the training set may change here while its loader lives: "
            "the sampler that shares them out has counted them before"
        )
        advice = "make the loader anew after the change, within the epoch loop"
    else:
        why = (
            "what training batches give changes here what the training loader draws: each process "
            "would know only what its own share of the batches has written"
        )
        advice = "gather what is written over all processes before it is written"
    return Ruling.refuse("PT218", change.event, why, advice)
