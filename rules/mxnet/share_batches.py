"""Let all workers go through the same batches, and each train on its samples of them.

What:
    An iterator that cannot be given a part of the data, of a class of the script or of MXNet
    (``CSVIter``, ``BucketSentenceIter``), is wrapped: each worker draws every batch and keeps its
    own samples. A sampler of a Gluon ``DataLoader`` is wrapped, too: each worker draws the same
    order and takes every N-th sample of it, or its samples of each batch of a ``batch_sampler``.

Why:
    Only the script knows which samples make up a batch. All workers have the same random numbers,
    so that the batches are those of one process.

Before:
    train_iter = PairIter("train", batch_size=64)

After:
    train_iter = share_batches(PairIter("train", batch_size=64))

Refuses when:
    workers would draw other batches (random numbers of MXNet), the class cannot be looked into, or
    each worker is to take the batch of the script (``--batch-size per-device``).

Source:
    https://mxnet.apache.org/versions/1.9.1/api/python/docs/api/mxnet/io/index.html
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from transpile.layout import wrap_expression
from transpile.plan.model import Plan
from transpile.result import Verdict
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.mxnet._loaders import Site, constant_of, is_shared_out, sites, written
from transpile.rules.mxnet._shares import BATCH_SAMPLER, ITERATOR, SAMPLER, obstacle, way

CODES = {
    "MX221": "each worker takes its samples of batches that all of them go through",
    "MX222": "the workers cannot go through these batches together",
}
BY_HAND = "give each worker its part by hand, by the rank and num_workers of the store"
HELPERS = {ITERATOR: "share_batches", SAMPLER: "SamplerShare", BATCH_SAMPLER: "BatchSamplerShare"}


@dataclass(frozen=True, eq=False)
class Share:
    """What to wrap.

    Args:
        site: the call that makes the data.
        node: the iterator or the sampler.
        helper: the helper around it.
        more: what the helper is given beside it.
    """

    site: Site
    node: cst.BaseExpression
    helper: str
    more: str = ""


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each call whose batches all workers go through."""
    for site in sites(plan):
        kind = way(plan, site)
        if not kind or is_shared_out(plan, site):
            continue
        why = obstacle(plan, site)
        argument = site.loader.argument(kind) if kind != ITERATOR else None
        node: cst.CSTNode | None = site.node
        if kind != ITERATOR:
            node = argument.node if argument is not None and written(site, argument) else None
            if not why and constant_of(site.loader.argument("last_batch"), "keep") == "rollover":
                why = "samples that roll over into the next epoch would do so for each worker apart"
        if not why and not isinstance(node, cst.BaseExpression):
            why = f"it is not known where {kind} comes from"
        if why:
            yield Ruling("MX222", Verdict.REFUSE, site.module, site.node, why, BY_HAND)
            continue
        assert isinstance(node, cst.BaseExpression)
        yield Ruling(
            "MX221",
            Verdict.APPLY,
            site.module,
            site.node,
            "each worker takes its samples of each batch",
            data=Share(site, node, HELPERS[kind], dropping(site) if kind == SAMPLER else ""),
            claims=(site.node,),
        )


def dropping(site: Site) -> str:
    """The argument that says whether the last, smaller batch is dropped."""
    last = site.loader.argument("last_batch")
    constant = constant_of(last, "keep")
    if constant == "discard":
        return ", drop_last=True"
    if constant is ... and last is not None and last.node is not None:
        return f', drop_last={site.module.source.code(last.node)} == "discard"'
    return ""


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The helper around the iterator or the sampler."""
    share: Share = ruling.data
    module = share.site.module
    yield Helper(share.helper, module)
    opening = f"{plan.names_in(module).fresh(share.helper)}("
    for edit in wrap_expression(module.source, share.node, opening, f"{share.more})"):
        yield In(module, edit)
