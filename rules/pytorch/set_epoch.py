"""Tell the sampler which epoch it is, so that the order changes.

What:
    ``set_epoch`` is called at the top of the loop that repeats the passes over a training loader.

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
    never: where the number of the epoch has no name, the sampler counts for itself.

Source:
    https://pytorch.org/docs/stable/data.html#torch.utils.data.distributed.DistributedSampler
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Call, Event, Loop
from transpile.facts.module import Module
from transpile.facts.values import Opaque
from transpile.layout import insert_at_start_of_body, insert_before
from transpile.plan.graph import called_names
from transpile.plan.holders import Holder, bindings, parameters
from transpile.plan.model import Plan
from transpile.plan.places import Statement, ancestors, function_of, statement_of
from transpile.plan.sources import (
    Site,
    epoch_loop,
    given,
    is_indirect,
    iterated_expression,
    may_lack_sampler,
    sites,
    variables,
)
from transpile.records import dataclass
from transpile.result import Verdict
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.pytorch._loaders import (
    SAMPLER,
    has_own_way,
    is_distributed_sampler,
    sharded_sibling,
)

CODES = {
    "PT211": "the sampler is told the epoch",
    "PT212": "there is no place from which the sampler can be told the epoch",
}


@dataclass(frozen=True, eq=False)
class Telling:
    """Where and how ``set_epoch`` is called.

    Args:
        site: the loader's call.
        loop: the loop that repeats the passes.
        iteration: the event that draws from the loader.
        loader_text: the loader as the loop's scope names it; None where it has no name there.
    """

    site: Site
    loop: Loop
    iteration: Event
    loader_text: str | None


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each training loader that is passed over again and again."""
    for site in sites(plan):
        if has_own_way(plan, site):
            continue
        if given(site, "batch_sampler") is not None or own_sampler(site):
            continue
        if is_indirect(plan, site) and all(sharded_sibling(plan, each) for each in site.loaders):
            continue
        for found in loops(plan, site):
            loop, iteration = found
            if told(plan, site):
                yield Ruling(
                    "PT211",
                    Verdict.ALREADY_DONE,
                    loop.module,
                    loop.node,
                    "the sampler is told the epoch",
                )
                continue
            yield Ruling(
                "PT211",
                Verdict.APPLY,
                loop.module,
                loop.node,
                "the sampler is told the epoch at the top of this loop",
                data=Telling(site, loop, iteration, loader_text(plan, site, loop, iteration)),
            )


def own_sampler(site: Site) -> bool:
    """Whether a loader has a sampler of its own, which is told nothing that it was not told."""
    sampler = given(site, "sampler")
    if sampler is None or may_lack_sampler(site):
        return False
    return not is_distributed_sampler(sampler.values)


def loops(plan: Plan, site: Site) -> list[tuple[Loop, Event]]:
    """The epoch loops of a place that makes loaders, each once."""
    found: list[tuple[Loop, Event]] = []
    for loader in site.loaders:
        pair = epoch_loop(plan, loader)
        if pair is not None and not any(pair[0].node is other.node for other, _ in found):
            found.append(pair)
    return found


def told(plan: Plan, site: Site) -> bool:
    """Whether ``set_epoch`` is called on a DistributedSampler or the sampler of the loader."""
    values = {id(loader.value) for loader in site.loaders}
    for event in plan.facts.events:
        if event.kind != "call":
            continue
        for callee in event.callee:
            if not isinstance(callee, Opaque) or callee.name != "set_epoch":
                continue
            for base in callee.operands[0]:
                if any(name.endswith("DistributedSampler") for name in called_names(base)):
                    return True
                if isinstance(base, Opaque) and base.name in ("sampler", "batch_sampler"):
                    if any(id(owner) in values for owner in base.operands[0]):
                        return True
    return False


def loop_depth(loop: Loop, event: Event) -> int:
    """How many project calls lead to the scope of a loop around an event."""
    return sum(isinstance(frame, Call) for frame in event.stack[: event.stack.index(loop)])


def loader_text(plan: Plan, site: Site, loop: Loop, iteration: Event) -> str | None:
    """How the scope of the epoch loop names the loader."""
    if loop not in iteration.stack:
        return None
    function = function_of(loop.module, loop.node)
    depth = loop_depth(loop, iteration)
    for loader in site.loaders:
        for holder, text in variables(plan, loader):
            if holder.module is not loop.module:
                continue
            here = holder.function is function and holder.depth == depth
            if here and not bound_inside(loop, holder):
                found: str = text
                return found
            if holder.function is None and not shadowed(function, holder.text):
                found = text
                return found
    return None


def bound_inside(loop: Loop, holder: Holder) -> bool:
    """Whether the name is bound only inside the loop, after its top."""
    owner = loop.node
    if not isinstance(owner, (cst.For, cst.While)) or not holder.text.isidentifier():
        return False
    inside = bindings(owner).get(holder.text, [])
    return bool(inside)


def shadowed(function: cst.FunctionDef | None, name: str) -> bool:
    """Whether a function binds a name of its own."""
    return function is not None and (name in parameters(function) or name in bindings(function))


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The call at the top of the loop, or just before the batches are drawn."""
    data: Telling = ruling.data
    module, loop = data.loop.module, data.loop.node
    epoch = epoch_name(plan, loop)
    sampler = sampler_variable(data, rulings)
    created_inside = any(node is loop for node in ancestors(data.site.module, data.site.node))
    if sampler is not None and created_inside:
        statement = statement_of(data.site.module, data.site.node)
        told_epoch = epoch or "0"
        lines = [f"if {sampler} is not None:", f"    {sampler}.set_epoch({told_epoch})"]
        if statement is not None:
            for edit in insert_before(data.site.module.source, statement, lines, order=20):
                yield In(data.site.module, edit)
            return
    if sampler is not None and visible(data):
        value = epoch or f"{sampler}.epoch + 1"
        lines = [f"if {sampler} is not None:", f"    {sampler}.set_epoch({value})"]
    else:
        text = data.loader_text
        above: tuple[Module, Statement] | None = None
        if text is None:
            statement = statement_of(data.iteration.module, data.iteration.node)
            node = drawn_from(plan, data)
            if statement is None or node is None:
                return
            text = data.iteration.module.source.code(node)
            above, epoch = (data.iteration.module, statement), None
        value = epoch or f"{text}.sampler.epoch + 1"
        place = above[0] if above is not None else module
        names = plan.names_in(place)
        condition = f"{names.fresh('get_world_size')}() > 1"
        if may_lack_sampler(data.site):
            kind = names.imported(SAMPLER, "DistributedSampler")
            condition = f"isinstance({text}.sampler, {kind})"
        else:
            yield Helper("get_world_size", place)
        lines = [
            f"if {condition}:",
            f"    {text}.sampler.set_epoch({value})",
        ]
        if above is not None:
            for edit in insert_before(above[0].source, above[1], lines):
                yield In(above[0], edit)
            return
    for edit in insert_at_start_of_body(module.source, loop, lines):
        yield In(module, edit)


def drawn_from(plan: Plan, data: Telling) -> cst.CSTNode | None:
    """The expression that the batches are drawn from."""
    for loader in data.site.loaders:
        node: cst.CSTNode | None = iterated_expression(plan, loader, data.iteration)
        if node is not None:
            return node
    return None


def sampler_variable(data: Telling, rulings: Rulings) -> str | None:
    """The variable that the sharding rule gives the sampler, where it gives one."""
    for ruling in rulings.of("shard-training-data", Verdict.APPLY):
        if ruling.data is not None and ruling.data.site.node is data.site.node:
            sharding = ruling.data
            return None if sharding.options is not None else sharding.sampler
    return None


def visible(data: Telling) -> bool:
    """Whether the sampler's variable can be read at the loop."""
    own = function_of(data.site.module, data.site.node)
    there = function_of(data.loop.module, data.loop.node)
    if data.site.module is not data.loop.module:
        return False
    return own is None or own is there


def epoch_name(plan: Plan, loop: cst.CSTNode) -> str | None:
    """The name of the epoch's number in a loop's head."""
    if not isinstance(loop, cst.For):
        return None
    target: cst.CSTNode = loop.target
    counts = any(
        "builtins.range" in called_names(inner) or "tqdm.trange" in called_names(inner)
        for inner in behind_bars(plan.facts.values_of(loop.iter))
    )
    if isinstance(target, cst.Tuple) and any(
        isinstance(value, Opaque) and value.name == "enumerate"
        for value in plan.facts.values_of(loop.iter)
    ):
        target, counts = target.elements[0].value, True
    if counts and isinstance(target, cst.Name) and not set(target.value) <= {"_"}:
        return target.value
    return None


def behind_bars(values: tuple[object, ...]) -> list[Opaque]:
    """The iterables behind progress bars."""
    found: list[Opaque] = []
    pending = list(values)
    while pending:
        value = pending.pop()
        if isinstance(value, Opaque):
            if value.kind == "operation" and value.name == "iterate":
                pending.extend(value.operands[0])
            else:
                found.append(value)
    return found
