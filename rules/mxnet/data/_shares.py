"""Which data is shared by taking a part of each batch that all workers go through."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.facts.events import Call
from transpile.facts.values import External, Instance
from transpile.plan.data.sources import constant_of
from transpile.plan.graph import walk_back
from transpile.plan.model import Plan
from transpile.rules.mxnet._roles import fits, trainers
from transpile.rules.mxnet.data._loaders import GLUON, Site, sites

ITERATOR = "iterator"
SAMPLER = "sampler"
BATCH_SAMPLER = "batch_sampler"
#: Iterators of MXNet that cannot be given a part, and draw from shared random numbers alone.
WHOLE = frozenset({"mxnet.io.CSVIter", "mxnet.rnn.BucketSentenceIter"})
#: Random numbers that workers stop having in common once they share their parameters.
VARIED = ("mxnet.nd.random", "mxnet.nd.shuffle", "mxnet.random.", "mxnet.np.random")
#: Methods with which a class takes the passes over it out of the hands of ``mx.io.DataIter``.
OWN_PASSES = frozenset({"__iter__", "__next__"})
MEANT = "it cannot be told what --batch-size per-device means for it: choose global"


def way(plan: Plan, site: Site) -> str:
    """How the data of a call is shared batch by batch; empty where it is parted otherwise."""
    if is_own(site) or site.kind in WHOLE:
        return ITERATOR
    if site.kind != GLUON:
        return ""
    for name in (BATCH_SAMPLER, SAMPLER):
        argument = site.loader.argument(name)
        if argument is not None and constant_of(argument, None) is not None:
            return name
    return ""


def is_own(site: Site) -> bool:
    """Whether the iterator is of a class of the project."""
    return any(isinstance(each.value, Instance) for each in site.loaders)


def shares_batches(plan: Plan) -> bool:
    """Whether some data is shared by taking a part of each batch."""
    return any(way(plan, site) for site in sites(plan))


def obstacle(plan: Plan, site: Site) -> str:
    """Why the workers cannot go through the batches of a call together; empty where they can."""
    if plan.options.batch_size != "global":
        return f"the batches are made by the script itself; {MEANT}"
    if way(plan, site) != ITERATOR:
        return ""
    if any(fit.word.startswith("FeedForward") for fit in fits(plan)):
        return "a FeedForward evaluates in batches of the size that it trains with"
    for loader in site.loaders:
        if not isinstance(loader.value, Instance):
            continue
        if "mxnet.io.DataIter" not in loader.value.cls.external_bases():
            return "this iterator is of a class of the project, which makes batches in its own way"
        if trainers(plan) and any(name in OWN_PASSES for name in loader.value.cls.scope.names):
            return (
                "this class says itself how to pass over it: what its batches are cannot be "
                "followed"
            )
        if trainers(plan) and not loader.training:
            return (
                "the batches of this iterator cannot be followed to the loss, so that nothing is "
                "known of what is made of them"
            )
        if holds_loader(plan, loader.value):
            return "this iterator goes through another one, which has a part of its own"
        if any(True for _ in draws(plan, loader.value)):
            return (
                "this iterator draws random numbers of MXNet, which differ from worker to worker "
                "in training: each would go through other batches"
            )
    return ""


def holds_loader(plan: Plan, iterator: Instance) -> bool:
    """Whether an iterator of the project holds training data that is parted by itself."""
    held = {id(value) for values in iterator.attributes.values() for value in walk_back(values)}
    return any(
        id(loader.value) in held
        for site in sites(plan)
        for loader in site.loaders
        if loader.value is not iterator
    )


def draws(plan: Plan, iterator: Instance) -> Iterator[str]:
    """The random functions of MXNet that the class of an iterator calls."""
    for event in plan.facts.calls:
        inside = any(
            isinstance(frame, Call) and frame.function.owner is iterator.cls
            for frame in event.stack
        )
        for callee in event.callee if inside else ():
            if isinstance(callee, External) and callee.name.startswith(VARIED):
                yield callee.name
