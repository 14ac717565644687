"""Give each process its share of every batch of the training set.

What:
    A training loader is given a ``DistributedBatchSampler`` when there are several processes.
    Shuffling and the batch size move to the sampler, which takes this process's share of the
    script's batch (with ``--batch-size per-device``, a whole batch). A batch sampler of the
    script's own keeps its meaning: each process takes its part of every batch that it draws. So
    does a data set that is iterated and not indexed. Evaluation loaders stay as they are.

Why:
    Without it every process trains on the same samples, and N processes do the work of one.

Before:
    train_loader = DataLoader(train_set, batch_size=32, shuffle=True, num_workers=2)

After:
    train_sampler = shard_batches(train_set, 32, shuffle=True)
    train_loader = DataLoader(train_set, num_workers=2, batch_sampler=train_sampler)

Refuses when:
    a call makes loaders for training and for evaluation and no variable holds the one for training;
    the arguments of a loader cannot be followed; training draws from no loader at all.

Source:
    https://www.paddlepaddle.org.cn/documentation/docs/en/api/paddle/io/DistributedBatchSampler_en.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.values import Argument
from transpile.layout import (
    add_argument,
    insert_after,
    insert_before,
    remove_argument,
    replace_argument_value,
    wrap_expression,
)
from transpile.layout.calls import written_call
from transpile.layout.lines import statement_indentation
from transpile.layout.moves import bind_above
from transpile.plan.data.batch_sources import cut_by_index, enters, foreign_source
from transpile.plan.data.passes import handed_out, passes_for_training
from transpile.plan.data.sources import Site, constant_of, is_simple, sampler_name, sites
from transpile.plan.flow.places import insertion_place
from transpile.plan.graph import walk_back
from transpile.plan.model import Backward, Plan
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.paddle.data._sharding import KNOWN, Sharding, sharding_of
from transpile.rules.paddle.data._shared_already import shared_already
from transpile.rules.paddle.high_level._high_level import high_level
from transpile.rules.paddle.static._static import static_of
from transpile.text.source import Source

CODES = {
    "PD201": "each process takes its share of the training batches",
    "PD202": "a training loader cannot be sharded",
    "PD203": "training draws its batches from no loader",
    "PD204": "each process takes the batch of the script",
    "PD205": "the size of a training loader's batch is read elsewhere",
    "PD215": "training uses numbers that a separate pass takes from the training loader",
    "PD216": "a call out of the project is given a loader that the processes share",
}
#: Where calls are split, every process has whole batches.
WAYS = ("data",)


#: What chooses among positions.
CHOICES = frozenset({"paddle.randperm", "paddle.randint"})


BY_HAND = "give the loader a DistributedBatchSampler by hand"


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each call that makes training loaders, and for training without any."""
    high_level(plan)
    static_of(plan)
    for site in sites(plan):
        if shared_already(plan, site):
            yield Ruling.done(
                "PD201", site, "the processes share this loader's batches", claims=(site.node,)
            )
            continue
        found = sharding_of(plan, site)
        if isinstance(found, str):
            yield Ruling.refuse("PD202", site, found, BY_HAND)
            continue
        yield Ruling.apply(
            "PD201", site, "the processes share its batches", data=found, claims=(site.node,)
        )
        if plan.options.batch_size == "per-device":
            yield Remark.note(
                "PD204",
                site,
                "each process takes the batch size of the script: the global batch is that times "
                "the number of processes",
            )
        yield from sizes_read(plan, site)
    for backward in plan.backwards:
        if not backward.loaders and not backward.event.detached:
            yield Ruling.refuse(
                "PD203",
                backward.event,
                why_no_loader(plan, backward),
                "draw the batches from a paddle.io.DataLoader that the script makes itself",
            )
    yield from drawn_elsewhere(plan)


def why_no_loader(plan: Plan, backward: Backward) -> str:
    """Say in one sentence where the batches of a backward pass without a loader come from."""
    behind = list(walk_back(backward.loss, enters))
    return (
        foreign_source(plan, backward, behind)
        or cut_by_index(plan, backward, behind, CHOICES)
        or "no DataLoader can be seen behind this backward pass: there is nothing that could be "
        "sharded over the processes"
    )


def drawn_elsewhere(plan: Plan) -> Iterator[Answer]:
    """A warning for each place beside training that sees one process's share of the data."""
    found = high_level(plan)
    gathering = (*found.fits, *found.evaluations, *found.predictions)
    known = {id(event.node) for event in gathering}
    for event in handed_out(plan, KNOWN):
        if id(event.node) not in known:
            yield Remark.warn(
                "PD216",
                event,
                "this call is given a loader whose batches the processes share, and sees only one "
                "process's share of the data",
                "give it a second DataLoader over the whole data set",
            )
    for event in passes_for_training(plan):
        yield Remark.warn(
            "PD215",
            event,
            "training uses what this pass over the training loader computes, and with several "
            "processes each computes it from its own share of the data",
            "compute it from the data set, or through a second DataLoader that only this pass uses",
        )


def sizes_read(plan: Plan, site: Site) -> Iterator[Answer]:
    """Places that read a loader's batch size, which its sampler has now."""
    made = {id(loader.value) for loader in site.loaders}
    for module in plan.facts.modules.values():
        for node in module.source.nodes:
            if isinstance(node, cst.Attribute) and node.attr.value == "batch_size":
                if any(id(value) in made for value in plan.facts.values_of(node.value)):
                    yield Ruling.refuse(
                        "PD205",
                        (module, node),
                        "the loader's batch size is read here, which its batch sampler has now",
                        "read the batch size from where the loader gets it",
                    )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The batch sampler, and the arguments that move into it."""
    data: Sharding = ruling.data
    if data.way == "finished":
        for module, statement, text in data.bound:
            yield Helper("shard_loader", module)
            line = f"{text} = {plan.names_in(module).fresh('shard_loader')}({text})"
            for edit in insert_after(module.source, statement, [line]):
                yield In(module, edit)
    elif data.way == "sampler":
        yield from divided_sampler(plan, data)
    elif data.way == "batches":
        yield from shared_sampler(plan, data)
    elif data.way == "stream":
        yield from shared_stream(plan, data)
    else:
        yield from sharded_set(plan, data)


def divided_sampler(plan: Plan, data: Sharding) -> Iterator[Change]:
    """The script's own DistributedBatchSampler takes this process's share."""
    if plan.options.batch_size == "per-device" or data.sampler is None:
        return
    size = data.sampler.arguments.get("batch_size", 1)
    assert size is not None and isinstance(size.node, cst.BaseExpression)
    yield Helper("split_batch", data.sampler.module)
    split = plan.names_in(data.sampler.module).fresh("split_batch")
    for edit in wrap_expression(data.sampler.module.source, size.node, f"{split}(", ")"):
        yield In(data.sampler.module, edit)


def shared_sampler(plan: Plan, data: Sharding) -> Iterator[Change]:
    """Each process takes its part of what the script's batch sampler draws."""
    argument = data.site.loader.argument("batch_sampler")
    assert argument is not None and isinstance(argument.node, cst.BaseExpression)
    yield Helper("share_batches", data.site.module)
    share = plan.names_in(data.site.module).fresh("share_batches")
    for edit in wrap_expression(data.site.module.source, argument.node, f"{share}(", ")"):
        yield In(data.site.module, edit)


def shared_stream(plan: Plan, data: Sharding) -> Iterator[Change]:
    """Each process takes its part of the stream, and its share of the batch."""
    source, module = data.site.module.source, data.site.module
    yield Helper("share_stream", data.site.module)
    share = plan.names_in(data.site.module).fresh("share_stream")
    for edit in wrap_expression(source, data.dataset, f"{share}(", ")"):
        yield In(module, edit)
    if plan.options.batch_size == "per-device":
        return
    yield Helper("split_batch", data.site.module)
    split = plan.names_in(data.site.module).fresh("split_batch")
    size = data.site.loader.argument("batch_size")
    if size is None or not isinstance(size.node, cst.BaseExpression):
        changes = add_argument(source, data.site.node, f"batch_size={split}(1)")
    else:
        changes = wrap_expression(source, size.node, f"{split}(", ")")
    for edit in changes:
        yield In(module, edit)


def sharded_set(plan: Plan, data: Sharding) -> Iterator[Change]:
    """A batch sampler for the data set in the place of batch size, shuffling and dropping."""
    source, module, call = data.site.module.source, data.site.module, data.site.node
    loader = data.site.loader
    dataset = source.code(data.dataset)
    if not is_simple(data.dataset):
        dataset = plan.names_in(data.site.module).fresh("train_dataset", f"dataset {id(call)}")
        above = insertion_place(data.site.module, data.site.node)
        assert above is not None
        for edit in bind_above(source, above, data.dataset, dataset):
            yield In(data.site.module, edit)
    words: list[str] = [dataset]
    size = loader.argument("batch_size")
    dropping = loader.argument("drop_last")
    drops = dropping is not None and turned_on(dropping)
    if grows(plan, data.site) and not drops:
        dist = plan.names_in(module).imported("paddle.distributed", "dist")
        words.append(f"{times(size, source)}{dist}.get_world_size()")
    elif size is not None and size.node is not None:
        words.append(source.code(size.node))
    shuffle = loader.argument("shuffle")
    if shuffle is not None and shuffle.node is not None and turned_on(shuffle):
        words.append(f"shuffle={source.code(shuffle.node)}")
    known = constant_of(dropping, False) is True
    if dropping is not None and dropping.node is not None and drops and not known:
        words.append(f"drop_last={source.code(dropping.node)}")
    anew = words[-1].startswith("shuffle=") and made_anew(data.site)
    if anew and not drops:
        # A sampler that counts its epochs would begin with the first one again.
        words.append("drop_last=False")
    helper = "shard_whole_batches" if drops or anew else "shard_batches"
    yield Helper(helper, data.site.module)
    for argument in call.args:
        if argument.keyword is not None and argument.keyword.value in (
            "batch_size", "shuffle", "drop_last"
        ):  # fmt: skip
            for edit in remove_argument(source, call, argument):
                yield In(module, edit)
    sampler = plan.names_in(data.site.module).fresh(sampler_name(data.site), f"sampler {id(call)}")
    statement = insertion_place(module, call)
    assert statement is not None
    indentation = len(statement_indentation(source, statement))
    lines = written_call(
        f"{sampler} = {plan.names_in(data.site.module).fresh(helper)}", words, indentation
    )
    for edit in insert_before(source, statement, lines, order=10):
        yield In(module, edit)
    own = next((a for a in call.args if a.keyword and a.keyword.value == "batch_sampler"), None)
    if own is not None:
        changes = replace_argument_value(source, call, own, sampler)
    else:
        changes = add_argument(source, call, f"batch_sampler={sampler}")
    for edit in changes:
        yield In(module, edit)


def grows(plan: Plan, site: Site) -> bool:
    """Whether Paddle evaluates on a loader: by samples, which it gathers in batches of any size."""
    found = high_level(plan)
    trained = [*found.trained, *(each for back in plan.backwards for each in back.loaders)]
    return (
        plan.options.batch_size == "global"
        and all(each in found.loaders and each not in trained for each in site.loaders)
        and not any(each.iterations for each in site.loaders)
    )


def times(size: Argument | None, source: Source) -> str:
    """The text of a size as the first factor of a product; nothing for batches of one."""
    if size is None or size.node is None:
        return ""
    text = source.code(size.node)
    return f"{text} * " if is_simple(size.node) else f"({text}) * "


def made_anew(site: Site) -> bool:
    """Whether a loader is made again for each pass over it."""
    return any(next(loader.event.loops(), None) is not None for loader in site.loaders)


def turned_on(argument: Argument) -> bool:
    """Whether a switch may be on."""
    return constant_of(argument, False) not in (False, 0, None)
