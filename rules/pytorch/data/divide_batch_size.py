"""Divide the batch, so that all processes together take the batch of the script.

What:
    The batch size of each training loader becomes this process's share of it. Evaluation loaders
    keep theirs. With ``--batch-size per-device`` nothing changes and each process takes the
    script's batch.

Why:
    N processes with the script's batch size train with an N times larger batch: other gradients,
    fewer steps, another schedule. A batch that N does not divide stops the script at its start: of
    an odd one, which hardly any N divides, there is a warning.

Before:
    loader = DataLoader(train_set, batch_size=args.batch_size)

After:
    loader = DataLoader(train_set, batch_size=split_batch(args.batch_size))

Refuses when:
    the batch size of a training loader cannot be followed, or also shapes what the model computes
    in a way that cannot be followed.

Source:
    https://pytorch.org/docs/stable/notes/ddp.html; Goyal et al., Accurate, Large Minibatch SGD
    (arXiv:1706.02677), section 2, on what a larger batch changes.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import Argument, Constant, Mapping, Unknown
from transpile.layout import add_argument, wrap_expression
from transpile.plan.data.batch_size.uses import uses
from transpile.plan.data.sources import (
    Site,
    depends_on_world_size,
    given,
    is_indirect,
    is_simple,
    sites,
)
from transpile.plan.flow.before_set_up import runs_before_set_up
from transpile.plan.model import Plan
from transpile.records import dataclass
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.pytorch.data._loaders import gives_batches, gives_parts, sharded_sibling

#: Where calls are sharded, every rank has the whole batch.
WAYS = ("data",)
CODES = {
    "PT221": "the processes share the batch of the script",
    "PT222": "the batch size of a training loader cannot be followed",
    "PT223": "each process takes the batch of the script",
    "PT224": "the batch size is used for something else, too",
    "PT240": "no even number of processes can share a batch",
}
#: What libraries call the batch size of the loaders that they make.
BATCH_KEYWORDS = ("batch_size", "train_batch_size", "bs", "bsz")


@dataclass(frozen=True, eq=False)
class Share:
    """An expression to divide, or a call that lacks a batch size.

    Args:
        module: where it is.
        node: the expression; the loader's call where `missing`.
        missing: the loader has the default batch size of 1.
        copied: the text of the dict that is to be copied with the divided batch size.
    """

    module: Module
    node: cst.CSTNode
    missing: bool = False
    copied: tuple[str, str] | None = None


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each call that makes training loaders."""
    divided: set[int] = set()
    for site in sites(plan):
        shared = all(sharded_sibling(plan, loader) for loader in site.loaders)
        if site.loader.foreign and not shared and plan.options.batch_size == "global":
            for name in BATCH_KEYWORDS:
                named = site.loader.event.arguments.keyword(name)
                if named is not None:
                    yield from other_uses(plan, site, named, divided)
        if given(site, "batch_sampler") is not None:
            continue
        argument = site.loader.argument("batch_size")
        if is_indirect(plan, site):
            whole = not shared and plan.options.batch_size == "global"
            if argument is not None and whole and not site.loader.foreign:
                yield from other_uses(plan, site, argument, divided)
            continue
        if argument is not None and depends_on_world_size(plan, argument.values):
            yield Ruling.done("PT221", site, "the batch size is divided by the number of processes")
            continue
        if argument is not None and argument.values == (Constant(None),):
            sampler = given(site, "sampler")
            if sampler is None or not (
                gives_batches(sampler.values) or gives_parts(plan, sampler.values)
            ):
                yield Ruling.refuse(
                    "PT222",
                    site,
                    "the loader makes no batches (batch_size=None): it hands on what the dataset "
                    "gives, which may be one sample or a batch as a whole",
                    "give the loader a batch size, or share the batches out inside the dataset",
                )
            continue
        if plan.options.batch_size == "per-device":
            yield Remark.note(
                "PT223",
                site,
                "each process takes the batch size of the script: the global batch is that times "
                "the number of processes",
            )
            continue
        if argument is None and site.loader.event.arguments.unknown_because:
            continue
        answer = share_of(plan, site, argument)
        if isinstance(answer, Ruling):
            yield answer
        elif id(answer.node) not in divided:
            divided.add(id(answer.node))
            yield Ruling.apply("PT221", answer, "the processes share this batch", data=answer)
            yield from indivisible(answer, argument)
        if argument is not None:
            yield from other_uses(plan, site, argument, divided)


def share_of(plan: Plan, site: Site, argument: Argument | None) -> Share | Ruling:
    """What to divide for one loader."""
    if argument is None:
        return Share(site.module, site.node, missing=True)

    def refuse(why: str) -> Ruling:
        return Ruling.refuse(
            "PT222",
            site,
            why,
            "divide the batch size of this loader by the number of processes by hand",
        )

    if any(isinstance(value, Unknown) for value in argument.values):
        return refuse("it is not known what the batch size of this loader is")
    if argument.maybe:
        return refuse("the batch size of this loader is given on some ways only")
    if argument.mapping is not None:
        return mapped_share(plan, site, argument) or refuse(
            "the batch size comes from a dict whose place in the text cannot be told"
        )
    if argument.node is None:
        return refuse("the batch size of this loader has no place in the text")
    return Share(module_of(plan, argument.node, site.module), argument.node)


def indivisible(share: Share, argument: Argument | None) -> Iterator[Remark]:
    """A warning about a batch that no even number of processes can share."""
    values = (Constant(1),) if argument is None else argument.values
    sizes = [
        one.value
        for one in values
        if isinstance(one, Constant) and isinstance(one.value, int) and one.value > 0
    ]
    if not sizes or len(sizes) != len(values) or any(size % 2 == 0 for size in sizes):
        return
    largest = max(sizes)
    *shared, last = [str(n) for n in range(1, largest + 1, 2) if largest % n == 0][1:] or [""]
    counts = f"{', '.join(shared)} or {last}" if shared else last
    yield Remark.warn(
        "PT240",
        share,
        (
            f"a batch of {largest} samples can be shared by {counts} processes alone: with another "
            "number of them the script stops at its start"
            if last
            else "a batch of one sample cannot be shared: with several processes the script stops "
            "at its start"
        ),
        "choose a batch size that the number of processes divides, or --shard calls, which takes "
        "any",
    )


def mapped_share(plan: Plan, site: Site, argument: Argument) -> Share | None:
    """A batch size that comes through an unpacked dict."""
    mapping = argument.mapping
    if not isinstance(mapping, Mapping):
        return None
    stars = [arg for arg in site.node.args if arg.star == "**"]
    shared = any(use is not site.node for use in mapping.uses)
    entry = mapping.entries.get("batch_size")
    if not shared and argument.node is not None and entry is not None and entry.module is not None:
        own = is_the_loaders_own(plan, argument.node, entry.module)
        # In place only where the number of processes is known by then.
        if own and not runs_before_set_up(plan, entry.module, argument.node):
            return Share(entry.module, argument.node)
    if len(stars) != 1 or not is_simple(stars[0].value):
        return None
    text = site.module.source.code(stars[0].value)
    return Share(site.module, stars[0].value, copied=(text, f'{text}["batch_size"]'))


def is_the_loaders_own(plan: Plan, node: cst.CSTNode, module: Module) -> bool:
    """Whether a dict's value stands in that dict for training loaders only."""
    makers = [
        loader
        for loader in plan.loaders
        if (found := loader.argument("batch_size")) is not None and found.node is node
    ]
    del module
    return all(loader.training for loader in makers)


def module_of(plan: Plan, node: cst.CSTNode, default: Module) -> Module:
    """The module that a node stands in."""
    for module in plan.facts.modules.values():
        try:
            module.source.span(node)
        except KeyError:
            continue
        return module
    return default


def other_uses(plan: Plan, site: Site, argument: Argument, divided: set[int]) -> Iterator[Answer]:
    """What follows the batch size in the training step: it takes the share, too."""
    makers = [(loader.event, loader.argument("batch_size")) for loader in site.loaders]
    for use in uses(plan, argument, makers):
        if id(use.node) in divided:
            continue
        divided.add(id(use.node))
        if use.obstacle:
            yield Ruling.refuse(
                "PT224", use, use.obstacle, "take the size from the batch itself, as in 'x.size(0)'"
            )
            continue
        if runs_before_set_up(plan, use.module, use.node):
            yield Ruling.refuse(
                "PT224",
                use,
                "this takes the size of the batch before the processes join: it cannot become that "
                "of one process's share",
                "take the size from the batch itself, as in 'x.size(0)', in the training step",
            )
            continue
        yield Ruling.apply(
            "PT221",
            use,
            "this shape follows the batch of one process",
            data=Share(use.module, use.node),
        )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The expression divided, in its place."""
    data: Share = ruling.data
    yield Helper("split_batch", data.module)
    split = plan.names_in(data.module).fresh("split_batch")
    source = data.module.source
    node = data.node
    assert isinstance(node, cst.BaseExpression)
    if data.missing:
        assert isinstance(node, cst.Call)
        changes = add_argument(source, node, f"batch_size={split}(1)")
    elif data.copied is not None:
        mapping, entry = data.copied
        changes = wrap_expression(source, node, "{**", f', "batch_size": {split}({entry})' + "}")
        del mapping
    else:
        changes = wrap_expression(source, node, f"{split}(", ")")
    for edit in changes:
        yield In(data.module, edit)
