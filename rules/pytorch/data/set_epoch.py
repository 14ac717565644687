"""Tell the sampler which epoch it is, so that the order changes.

What:
    ``set_epoch`` is called at the top of each loop that repeats the passes over a training loader.
    Where a loop draws single batches and begins another pass by ``iter(loader)``, the sampler is
    told before that call instead, and counts the passes.

Why:
    A ``DistributedSampler`` shuffles by its seed and its epoch: without ``set_epoch`` every epoch
    has the same order.

Before:
    for epoch in range(epochs):
        train(model, train_loader)

After:
    for epoch in range(epochs):
        if train_sampler is not None:
            train_sampler.set_epoch(epoch)
        train(model, train_loader)

Refuses when:
    neither the loop nor the place that draws the batches has the loader in a variable, or steps in
    a loop come to the batches of a shuffled loader in a way that is not followed. Where the
    number of the epoch has no name, the sampler counts for itself, or a helper where the loader is
    recreated in every epoch.

Source:
    https://pytorch.org/docs/stable/data.html#torch.utils.data.distributed.DistributedSampler
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event, Loop
from transpile.facts.module import Module
from transpile.facts.values import Constant, Opaque
from transpile.layout import insert_at_start_of_body, insert_before
from transpile.plan.data.epochs import epoch_name, is_made_anew, name_at
from transpile.plan.data.pass_starts import begins_in, restarts
from transpile.plan.data.sources import (
    Site,
    epoch_loops,
    given,
    holds_others,
    is_indirect,
    made_by,
    may_lack_sampler,
    sites,
    variables,
)
from transpile.plan.flow.bound import is_bound_behind
from transpile.plan.flow.places import ancestors, blocks_around, insertion_place
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Plan
from transpile.result import Verdict
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.pytorch.data._epoch_names import (
    Telling,
    drawn_from,
    is_near,
    loader_text,
    visible,
)
from transpile.rules.pytorch.data._loaders import (
    SAMPLER,
    has_own_way,
    is_distributed_sampler,
    sharded_sibling,
)

#: Where calls are sharded, every rank has the whole batch.
WAYS = ("data",)
CODES = {
    "PT211": "set_epoch of the sampler is called in each epoch",
    "PT212": "there is no place where set_epoch of the sampler could be called",
}
CHAINS = frozenset({"itertools.chain"})
TWICE = "the samples would come in the same order in every pass that this loop makes"
ADVICE = "loop over the training loader, by a variable that the loop can read"
UNSEEN = (
    "the samples would come in the same order in every pass: no loop over the loader can be seen"
)


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each training loader that is passed over again and again."""
    for site in sites(plan):
        if has_own_way(plan, site):
            continue
        if given(site, "batch_sampler") is not None or own_sampler(plan, site):
            continue
        if is_indirect(plan, site) and all(sharded_sibling(plan, each) for each in site.loaders):
            continue
        again = beginnings(plan, site)
        counted = bool(again)
        passes = [*again, *loops(plan, site)]
        if not passes and shuffles(site) and repeats_unseen(plan, site) and not told(plan, site):
            yield Ruling.refuse("PT212", site, UNSEEN, ADVICE)
        for loop, iteration in passes:
            restarting = any(iteration is start for _, start in again)
            if not has_body(loop) and not shuffles(site):
                # Nowhere to write it, and nothing to tell: this order is the same in every epoch.
                continue
            if told(plan, site):
                yield Ruling.done("PT211", loop, "the sampler is told the epoch")
                continue
            if shuffles(site) and comes_again(site, iteration):
                yield Ruling.refuse("PT212", loop, TWICE, ADVICE)
                continue
            text = loader_text(plan, site, loop, iteration)
            data = Telling(site, loop, iteration, text, restarting, counted)
            if not can_tell(plan, data):
                yield Ruling.refuse(
                    "PT212",
                    loop,
                    "the samples would come in the same order in every pass of this loop: nothing "
                    "here, nor where the batches are drawn, names the loader or its sampler",
                    ADVICE,
                )
                continue
            yield Ruling.apply(
                "PT211",
                loop,
                (
                    "the sampler is told where this loop begins another pass"
                    if restarting
                    else "the sampler is told the epoch at the top of this loop"
                ),
                data=data,
            )


def comes_again(site: Site, iteration: Event | None) -> bool:
    """Whether one loop passes over a loader more than once: ``chain(loader, loader)``."""
    own = {id(loader.value) for loader in site.loaders}
    for value in walk_back(iteration.callee if iteration is not None else ()):
        if isinstance(value, Opaque) and CHAINS.intersection(called_names(value)):
            given = [walk_back(argument.values) for argument in value.arguments.items]
            if sum(any(id(one) in own for one in behind) for behind in given) > 1:
                return True
    return False


def shuffles(site: Site) -> bool:
    """Whether a loader takes the samples in an order of its own."""
    shuffle = given(site, "shuffle")
    return shuffle is not None and shuffle.values != (Constant(False),)


def repeats_unseen(plan: Plan, site: Site) -> bool:
    """Whether a loop names the loader, and the batches are not seen to be drawn."""
    drawn = {
        id(loader.value)
        for loader in site.loaders
        for backward in plan.backwards
        if loader in backward.loaders and backward.iteration is None
    }
    return bool(drawn) and any(
        any(id(value) in drawn for value in plan.facts.values_of(node))
        for module in plan.facts.modules.values()
        for node in module.source.nodes_of(cst.Name, cst.Attribute)
        if any(isinstance(around, (cst.For, cst.While)) for around in ancestors(module, node))
    )


def has_body(loop: Loop) -> bool:
    """Whether statements can be written into a loop, as they cannot into a comprehension."""
    return isinstance(loop.node, (cst.For, cst.While))


def can_tell(plan: Plan, data: Telling) -> bool:
    """Whether the sampler can be reached in each pass of the loop."""
    if not has_body(data.loop):
        drawn = data.iteration
        outside = all(node is not data.loop.node for node in ancestors(drawn.module, drawn.node))
        return outside and drawn_from(plan, data) is not None
    if data.loader_text is not None or visible(plan, data) or drawn_from(plan, data) is not None:
        return True
    return any(node is data.loop.node for node in ancestors(data.site.module, data.site.node))


def own_sampler(plan: Plan, site: Site) -> bool:
    """Whether a loader has a sampler of its own, which is told nothing that it was not told."""
    sampler = given(site, "sampler")
    if sampler is None or may_lack_sampler(plan, site):
        return False
    return not is_distributed_sampler(sampler.values)


def beginnings(plan: Plan, site: Site) -> list[tuple[Loop, Event]]:
    """Where loops that draw single batches begin another pass, each place once."""
    found: list[tuple[Loop, Event]] = []
    for loader in site.loaders:
        for pair in restarts(plan, loader):
            if all(pair[1].node is not other.node for _, other in found):
                found.append(pair)
    return found


def loops(plan: Plan, site: Site) -> list[tuple[Loop, Event]]:
    """The epoch loops of a place that makes loaders, each once.

    Loops whose passes begin where batches are drawn are none: what is told at their top would only
    be heard there.
    """
    found: list[tuple[Loop, Event]] = []
    for loader in site.loaders:
        for loop, iteration in epoch_loops(plan, loader):
            if any(loop.node is other.node for other, _ in found):
                continue
            again = any(loop in start.stack for _, start in restarts(plan, loader))
            if again and not begins_in(plan, loader, loop):
                continue
            found.append((loop, iteration))
    return found


def told(plan: Plan, site: Site) -> bool:
    """Whether ``set_epoch`` is called on a DistributedSampler or the sampler of the loader."""
    values = {id(loader.value) for loader in site.loaders}
    for event in plan.facts.calls:
        for callee in event.callee:
            if not isinstance(callee, Opaque) or callee.name != "set_epoch":
                continue
            for base in callee.operands[0]:
                if any(name.endswith("DistributedSampler") for name in made_by(base)):
                    return True
                if isinstance(base, Opaque) and base.name in ("sampler", "batch_sampler"):
                    if any(id(owner) in values for owner in base.operands[0]):
                        return True
    return False


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The call at the top of the loop, or just before the batches are drawn."""
    data: Telling = ruling.data
    module, loop = data.loop.module, data.loop.node
    epoch = None if data.counted else epoch_name(plan, loop)
    sampler = sampler_variable(data, rulings)
    if data.restarts:
        yield from told_before_drawing(plan, data, sampler)
        return
    created_inside = any(node is loop for node in ancestors(data.site.module, data.site.node))
    if sampler is not None and created_inside:
        statement = insertion_place(data.site.module, data.site.node)
        if statement is not None:
            if epoch is None:
                yield Helper("next_epoch", data.site.module)
            counted = epoch or counter(plan, data.site.module)
            lines = [f"if {sampler} is not None:", f"    {sampler}.set_epoch({counted})"]
            for edit in insert_before(data.site.module.source, statement, lines, order=20):
                yield In(data.site.module, edit)
            return
    away = is_made_anew(data.loop, data.site.loaders) or not has_body(data.loop)
    if away or may_not_be_made(plan, data):
        yield from told_before_drawing(plan, data, sampler)
        return
    if sampler is not None and visible(plan, data):
        value = epoch or f"{sampler}.epoch + 1"
        lines = [f"if {sampler} is not None:", f"    {sampler}.set_epoch({value})"]
    else:
        text = data.loader_text
        if text is None:
            yield from told_before_drawing(plan, data, None)
            return
        value = epoch or f"{text}.sampler.epoch + 1"
        yield from sampler_helper(plan, data, module, text)
        lines = [
            f"if {has_sampler(plan, data, module, text)}:",
            f"    {text}.sampler.set_epoch({value})",
        ]
    for edit in insert_at_start_of_body(module.source, loop, lines):
        yield In(module, edit)


def may_not_be_made(plan: Plan, data: Telling) -> bool:
    """Whether the loader is made on a condition, and drawn from on one within the loop."""
    loop, site = data.loop, data.site
    if drawn_from(plan, data) is None:
        return False
    around = blocks_around(loop.module, loop.node)
    if any(block in around for block in blocks_around(site.module, site.node)[:1]):
        return False
    text = data.loader_text
    statement = insertion_place(loop.module, loop.node)
    return (
        text is not None
        and statement is not None
        and not is_bound_behind(loop.module, statement, text)
    )


def told_before_drawing(plan: Plan, data: Telling, sampler: str | None) -> Iterator[Change]:
    """The call just before the batches are drawn, in whatever function that is."""
    module = data.iteration.module
    statement, node = insertion_place(module, data.iteration.node), drawn_from(plan, data)
    if statement is None or node is None:
        return
    text = module.source.code(node)
    anew = is_made_anew(data.loop, data.site.loaders)
    value = None if data.counted else name_at(plan, data.loop, data.iteration)
    if value is None and anew and not data.restarts:
        yield Helper("next_epoch", module)
        value = counter(plan, module)
    if sampler is not None and is_near(data):
        counted = value or f"{sampler}.epoch + 1"
        lines = [f"if {sampler} is not None:", f"    {sampler}.set_epoch({counted})"]
    else:
        yield from sampler_helper(plan, data, module, text)
        lines = [
            f"if {has_sampler(plan, data, module, text)}:",
            f"    {text}.sampler.set_epoch({value or f'{text}.sampler.epoch + 1'})",
        ]
    for edit in insert_before(module.source, statement, lines):
        yield In(module, edit)


def sampler_helper(plan: Plan, data: Telling, module: Module, text: str) -> Iterator[Change]:
    """What the test for a sampler needs."""
    if not may_lack(plan, data.site, text):
        yield Helper("get_world_size", module)


def has_sampler(plan: Plan, data: Telling, module: Module, text: str) -> str:
    """The test whether a loader has a sampler that can be told the epoch."""
    names = plan.names_in(module)
    if data.site.loader.foreign:
        sampler = names.imported(SAMPLER, "DistributedSampler")
        return f'isinstance(getattr({text}, "sampler", None), {sampler})'
    if may_lack(plan, data.site, text):
        return f"isinstance({text}.sampler, {names.imported(SAMPLER, 'DistributedSampler')})"
    return f"{names.fresh('get_world_size')}() > 1"


def may_lack(plan: Plan, site: Site, text: str) -> bool:
    """Whether only the run tells if what is drawn from has a sampler that takes an epoch."""
    return (
        site.loader.foreign
        or may_lack_sampler(plan, site)
        or any(
            each == text and holds_others(plan, holder)
            for loader in site.loaders
            for holder, each in variables(plan, loader)
        )
    )


def counter(plan: Plan, module: Module) -> str:
    """The call that counts epochs where nothing in the script does."""
    return f"{plan.names_in(module).fresh('next_epoch')}()"


def sampler_variable(data: Telling, rulings: Rulings) -> str | None:
    """The variable that the sharding rule gives the sampler, where it gives one."""
    for ruling in rulings.of("shard-training-data", Verdict.APPLY):
        if ruling.data is not None and ruling.data.site.node is data.site.node:
            sharding = ruling.data
            return None if sharding.options is not None else sharding.sampler
    return None
