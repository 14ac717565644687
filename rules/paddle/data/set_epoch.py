"""Tell the batch sampler which epoch it is, so that the order changes.

What:
    ``set_epoch`` is called at the top of the loop that repeats the passes over a training loader
    that shuffles.

Why:
    A ``DistributedBatchSampler`` shuffles by the number of the epoch. It counts for itself, but a
    run that resumes would begin with the order of the first epoch again.

Before:
    for epoch in range(3):
        for x, y in train_loader:

After:
    for epoch in range(3):
        set_epoch(train_loader, epoch)
        for x, y in train_loader:

Refuses when:
    never: where the epoch or the loader has no name there, the sampler counts for itself.

Source:
    https://www.paddlepaddle.org.cn/documentation/docs/en/api/paddle/io/DistributedBatchSampler_en.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Call, Event, Loop
from transpile.facts.values import Opaque
from transpile.layout import insert_at_start_of_body
from transpile.plan.data.sources import Site, constant_of, epoch_loop, sites, variables
from transpile.plan.flow.places import function_of
from transpile.plan.graph import called_names
from transpile.plan.model import Plan
from transpile.plan.models.holders import bindings, parameters
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.paddle.data._sharding import DISTRIBUTED, sharding_of
from transpile.rules.paddle.data.shard_training_data import made_anew

CODES = {"PD211": "set_epoch of the batch sampler is called in each epoch"}
#: Where calls are split, every process has whole batches.
WAYS = ("data",)


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each training loader that is passed over again and again."""
    for site in sites(plan):
        for loader in site.loaders:
            pair = epoch_loop(plan, loader)
            if pair is None:
                continue
            loop, iteration = pair
            if told(plan):
                yield Ruling.done("PD211", loop, "the batch sampler is told the epoch")
                break
            found = sharding_of(plan, site)
            if isinstance(found, str) or not shuffles(site, found.way):
                break
            name, text = epoch_name(plan, loop.node), loader_text(plan, site, loop, iteration)
            if name is None or text is None:
                break
            yield Ruling.apply(
                "PD211",
                loop,
                "the batch sampler is told the epoch at the top of this loop",
                data=(text, name),
            )
            break


def shuffles(site: Site, way: str) -> bool:
    """Whether the loader will have a sampler that shuffles by the epoch."""
    if way == "sampler":
        return True
    if way != "dataset" or made_anew(site):
        return False
    dropping = constant_of(site.loader.argument("drop_last"), False)
    return dropping in (False, None) and (
        constant_of(site.loader.argument("shuffle"), False) not in (False, None)
    )


def told(plan: Plan) -> bool:
    """Whether ``set_epoch`` is called."""
    for event in plan.facts.calls:
        for callee in event.callee:
            if isinstance(callee, Opaque) and callee.name == "set_epoch":
                if any(DISTRIBUTED in called_names(base) for base in callee.operands[0]):
                    return True
                if any(getattr(base, "name", "") == "batch_sampler" for base in callee.operands[0]):
                    return True
    return False


def loader_text(plan: Plan, site: Site, loop: Loop, iteration: Event) -> str | None:
    """How the scope of the epoch loop names the loader."""
    if loop not in iteration.stack:
        return None
    function = function_of(loop.module, loop.node)
    depth = sum(isinstance(frame, Call) for frame in iteration.stack[: iteration.stack.index(loop)])
    for loader in site.loaders:
        for holder, text in variables(plan, loader):
            if holder.module is not loop.module:
                continue
            if holder.function is function and holder.depth == depth:
                if not (text.isidentifier() and bindings(loop.node).get(text)):
                    return text
            elif holder.function is None and function is not None:
                if text not in parameters(function) and text not in bindings(function):
                    return text
    return None


def epoch_name(plan: Plan, loop: cst.CSTNode) -> str | None:
    """The name of the epoch's number in a loop's head."""
    if not isinstance(loop, cst.For):
        return None
    counts = any(
        "builtins.range" in called_names(value) or "tqdm.trange" in called_names(value)
        for value in plan.facts.values_of(loop.iter)
    )
    if counts and isinstance(loop.target, cst.Name) and not set(loop.target.value) <= {"_"}:
        return loop.target.value
    return None


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The call at the top of the loop."""
    loader, epoch = ruling.data
    yield Helper("set_epoch", ruling.module)
    lines = [f"{plan.names_in(ruling.module).fresh('set_epoch')}({loader}, {epoch})"]
    for edit in insert_at_start_of_body(ruling.module.source, ruling.node, lines):
        yield In(ruling.module, edit)
