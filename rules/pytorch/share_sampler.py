"""Share out what the script's own sampler draws, and keep what it means.

What:
    A sampler of the script (weighted, over a subset, of a class of its own) draws on rank 0, and
    every process takes its part of the draw. Of a batch sampler every process takes its part of
    each batch. In a single process the sampler is used as it is.

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
    the sampler has no place in the text of the call; a batch sampler is of the script's own
    class, so that its batches may be of any size.

Source:
    https://pytorch.org/docs/stable/data.html#data-loading-order-and-sampler
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.values import Constant, Instance, Unknown, Values
from transpile.layout import wrap_expression
from transpile.plan.graph import called_names
from transpile.plan.model import Plan
from transpile.plan.sources import (
    Site,
    constant_of,
    depends_on_world_size,
    given,
    is_indirect,
    sites,
)
from transpile.records import dataclass
from transpile.result import Verdict
from transpile.rule import Answer, Change, Helper, In, Ruling, Rulings
from transpile.rules.pytorch._loaders import is_distributed_sampler

CODES = {
    "PT207": "every process takes its part of what a sampler draws",
    "PT208": "a sampler cannot be shared out",
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
            if shared(plan, argument.values):
                yield Ruling(
                    "PT207",
                    Verdict.ALREADY_DONE,
                    site.module,
                    site.node,
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
            if name == "batch_sampler" and not of_even_batches(argument.values):
                yield refusal(
                    site, "its batches may be of any size, which several processes cannot share"
                )
                continue
            drops = constant_of(site.loader.argument("drop_last"), False) is True
            yield Ruling(
                "PT207",
                Verdict.APPLY,
                site.module,
                site.node,
                f"every process takes its part of what the {name} draws",
                data=Sharing(site, node, helper, drops),
                claims=(site.node,),
            )


def of_even_batches(values: Values) -> bool:
    """Whether all batches but the last have the size that a batch sampler was given."""
    return all("torch.utils.data.BatchSampler" in called_names(value) for value in values)


def refusal(site: Site, why: str) -> Ruling:
    """The answer for a sampler that cannot be shared out."""
    return Ruling(
        "PT208",
        Verdict.REFUSE,
        site.module,
        site.node,
        why,
        "give the loader its sampler as an argument of the call",
    )


def shared(plan: Plan, values: Values) -> bool:
    """Whether a sampler already gives each process its part."""
    return any(
        isinstance(value, Instance)
        and any(depends_on_world_size(plan, held) for held in value.attributes.values())
        for value in values
        if not isinstance(value, Constant)
    )


def edits(plan: Plan, ruling: Ruling, rulings: Rulings) -> Iterator[Change]:
    """The sampler within the helper."""
    data: Sharing = ruling.data
    yield Helper(data.helper, data.site.module)
    after = ", drop_last=True)" if data.drops else ")"
    name = plan.names_in(data.site.module).fresh(data.helper)
    for edit in wrap_expression(data.site.module.source, data.node, f"{name}(", after):
        yield In(data.site.module, edit)
