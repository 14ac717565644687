"""Let all workers go through the same batches, and each train on its samples of them.

What:
    An iterator that cannot be given a part of the data, of a class of the script or of MXNet
    (``CSVIter``, ``BucketSentenceIter``), is wrapped: each worker draws every batch and keeps its
    own samples. A sampler of a Gluon ``DataLoader`` is wrapped, too: each worker draws the same
    order and takes every N-th sample of it, or its samples of each batch of a ``batch_sampler``.
    Of a batch that the training loop cuts out of an array by index, each worker takes its samples.

Why:
    Only the script knows which samples make up a batch. All workers have the same random numbers,
    so that the batches are those of one process.

Before:
    train_iter = PairIter("train", batch_size=64)

After:
    train_iter = share_batches(PairIter("train", batch_size=64))

Refuses when:
    workers would draw other batches (random numbers of MXNet), the class cannot be analysed, or
    each worker is to take the batch of the script (``--batch-size per-device``).

Source:
    https://mxnet.apache.org/versions/1.9.1/api/python/docs/api/mxnet/io/index.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.layout import wrap_expression
from transpile.plan.data.sources import constant_of
from transpile.plan.model import Plan
from transpile.records import dataclass
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.mxnet.data._loaders import (
    Site,
    from_store,
    is_shared_out,
    sites,
    written,
)
from transpile.rules.mxnet.data._shares import BATCH_SAMPLER, ITERATOR, SAMPLER, obstacle, way
from transpile.rules.mxnet.data._slices import Cut, cuts_of

CODES = {
    "MX221": "each worker takes its samples of batches that all of them go through",
    "MX222": "the workers cannot go through these batches together",
}
#: Where calls are split, every worker has whole batches.
WAYS = ("data",)
BY_HAND = "give each worker its part by hand, by the rank and num_workers of the store"
HELPERS = {ITERATOR: "share_batches", SAMPLER: "SamplerShare", BATCH_SAMPLER: "BatchSamplerShare"}


@dataclass(frozen=True, eq=False)
class Share:
    """What to wrap.

    Args:
        module: where it is.
        node: the iterator, the sampler, or the batch that is cut.
        helper: the helper around it.
        more: what the helper is given beside it.
    """

    module: Module
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
            yield Ruling.refuse("MX222", site, why, BY_HAND)
            continue
        assert isinstance(node, cst.BaseExpression)
        yield Ruling.apply(
            "MX221",
            site,
            "each worker takes its samples of each batch",
            data=Share(site.module, node, HELPERS[kind], dropping(site) if kind == SAMPLER else ""),
            claims=(site.node,),
        )
    for cuts in cuts_of(plan):
        for cut in () if cuts.why_not else cuts.places:
            yield Ruling.apply(
                "MX221",
                cut,
                "each worker takes its samples of this batch",
                data=Share(cut.module, cut.node, "share_of"),
                done=is_cut_again(plan, cut),
            )


def is_cut_again(plan: Plan, cut: Cut) -> bool:
    """Whether a batch that is cut goes straight into a call that asks for the rank."""
    argument = cut.module.source.parent(cut.node)
    call = cut.module.source.parent(argument) if isinstance(argument, cst.Arg) else None
    return call is not None and any(
        event.kind == "call"
        and any(frame.node is call for frame in event.calls())
        and from_store(event.result, "rank")
        for event in plan.facts.events
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
    module = share.module
    yield Helper(share.helper, module)
    opening = f"{plan.names_in(module).fresh(share.helper)}("
    for edit in wrap_expression(module.source, share.node, opening, f"{share.more})"):
        yield In(module, edit)
