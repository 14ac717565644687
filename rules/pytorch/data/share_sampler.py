"""Shard what the script's own sampler draws, and keep what it means.

What:
    A sampler of the script (weighted, over a subset, of a class of its own) draws on rank 0, and
    every process takes its part of the draw. Of a batch sampler every process takes its part of
    each batch; where batches may be of any size, parts may overlap by a sample or so, and a
    warning says it. In a single process the sampler is used as it is.

Why:
    A ``DistributedSampler`` in its place would lose the weights, the subset or the batches. The
    sampler itself on every process draws another sample on each, or the same on all.

Before:
    loader = DataLoader(train_set, batch_size=64, sampler=WeightedRandomSampler(weights, 5000))

After:
    loader = DataLoader(
        train_set,
        batch_size=split_batch(64),
        sampler=share_sampler(WeightedRandomSampler(weights, 5000)),
    )

Refuses when:
    the sampler has no place in the text of the call; it puts batches together in a way of its own
    and the loss compares the samples of a batch.

Source:
    https://pytorch.org/docs/stable/data.html#data-loading-order-and-sampler
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.values import Constant, Function, Instance, Opaque, Unknown, Values
from transpile.layout import wrap_expression
from transpile.plan.data.sources import (
    Site,
    constant_of,
    given,
    is_indirect,
    sites,
)
from transpile.plan.graph import called_names, method_calls, walk_back
from transpile.plan.model import Plan
from transpile.quantity.asking import Kind, analysis, quantity
from transpile.records import dataclass
from transpile.rule import Answer, Change, Helper, In, Remark, Ruling, Rulings
from transpile.rules.pytorch.data._loaders import gives_batches, gives_parts, is_distributed_sampler

#: Where calls are sharded, every rank has the whole batch.
WAYS = ("data",)
CODES = {
    "PT207": "every process takes its part of what a sampler draws",
    "PT208": "a sampler cannot be sharded",
    "PT227": "batches of any size are sharded",
}


@dataclass(frozen=True, eq=False)
class Sharing:
    """The sampler's expression, and the helper that shares it out."""

    site: Site
    node: cst.BaseExpression
    helper: str
    drops: bool


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each training loader with a sampler of its own."""
    for site in sites(plan):
        if is_indirect(plan, site):
            continue
        for name, helper in (("sampler", "share_sampler"), ("batch_sampler", "share_batches")):
            argument = given(site, name)
            if argument is None or is_distributed_sampler(argument.values):
                continue
            if gives_parts(plan, argument.values):
                yield Ruling.done(
                    "PT207",
                    site,
                    "every process takes its part of what the sampler draws",
                    claims=(site.node,),
                )
                continue
            node = argument.node
            if (
                not isinstance(node, cst.BaseExpression)
                or argument.mapping is not None
                or argument.maybe
            ):
                yield refusal(site, f"the {name} reaches this loader through a dict")
                continue
            if any(isinstance(value, Unknown) for value in argument.values):
                yield refusal(site, f"it is not known what the {name} of this loader is")
                continue
            if not of_the_library(argument.values):
                why = compared(plan, site)
                if why:
                    yield refusal(
                        site,
                        f"the {name} puts together batches in a way of its own, and the loss may "
                        f"depend on what is in one batch: {why}",
                        "take such batches on each process, and their number divided by that of "
                        "the processes",
                    )
                    continue
                if name == "batch_sampler":
                    yield Remark.warn(
                        "PT227",
                        site,
                        "these batches may be of any size: the parts of one that the processes do "
                        "not divide overlap by less than a sample each",
                        "let the batch sampler make batches that the number of processes divides",
                    )
            if name == "sampler" and gives_batches(argument.values):
                helper = "share_batches"
            drops = (
                helper == "share_sampler"
                and constant_of(site.loader.argument("drop_last"), False) is True
            )
            yield Ruling.apply(
                "PT207",
                site,
                f"every process takes its part of what the {name} draws",
                data=Sharing(site, node, helper, drops),
                claims=(site.node,),
            )


def of_the_library(values: Values) -> bool:
    """Whether a sampler is one of PyTorch's own, which put nothing into batches on purpose."""
    return all(
        any(name.startswith("torch.utils.data.") for name in called_names(value))
        for value in values
        if value != Constant(None)
    )


def compared(plan: Plan, site: Site) -> str:
    """Why a loss may compare the samples of a batch; empty where it takes them one by one."""
    loaders = {id(loader) for loader in site.loaders}
    for backward in plan.backwards:
        if backward.event.detached or not any(id(one) in loaders for one in backward.loaders):
            continue
        found = quantity(plan, backward.loss)
        if found.kind is Kind.UNKNOWN:
            return str(found.reason)
        if found.kind not in (Kind.PART, Kind.SAMPLE):
            return "how it depends on the batch cannot be followed"
        if takes_by_place(plan, backward.loss):
            return "it takes samples by their places in the batch"
    return ""


def takes_by_place(plan: Plan, loss: Values) -> bool:
    """Whether a step takes a batch apart by the places of its samples, as ``batch[:5]`` does."""
    quantities = analysis(plan)
    for value in walk_back(loss, lambda one: not isinstance(one, (Instance, Function))):
        if not isinstance(value, Opaque) or quantities.in_model(value):
            continue
        found = quantities.of((value,))
        if found.kind is not Kind.SAMPLE:
            continue
        if found.dim is not None and not is_part_of_tensor(value):
            continue
        receivers = [receiver for _, receiver in method_calls(value)]
        for base in (*value.operands[:1], *receivers):
            behind = quantities.of(base)
            if behind.kind is Kind.SAMPLE and behind.dim == 0:
                return True
    return False


def is_part_of_tensor(value: Opaque) -> bool:
    """Whether a value is a slice along the first dimension of what is no batch as a whole."""
    if value.kind != "item" or not isinstance(value.node, cst.Subscript):
        return False
    part = value.node.slice[0].slice
    if not isinstance(part, cst.Slice) or not (part.lower or part.upper or part.step):
        return False
    return not any(isinstance(one, Opaque) and one.kind == "element" for one in value.operands[0])


def refusal(
    site: Site, why: str, advice: str = "give the loader its sampler as an argument of the call"
) -> Ruling:
    """The answer for a sampler that cannot be sharded."""
    return Ruling.refuse("PT208", site, why, advice)


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The sampler within the helper."""
    data: Sharing = ruling.data
    yield Helper(data.helper, data.site.module)
    after = ", drop_last=True)" if data.drops else ")"
    name = plan.names_in(data.site.module).fresh(data.helper)
    for edit in wrap_expression(data.site.module.source, data.node, f"{name}(", after):
        yield In(data.site.module, edit)
