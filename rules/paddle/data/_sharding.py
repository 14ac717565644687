"""How a training loader's call is to be changed so that it gives each process its share."""

from __future__ import annotations

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import Argument, Constant, Instance, Opaque, Unknown, Values
from transpile.plan.data.sources import Site, constant_of, given, is_indirect, variables
from transpile.plan.flow.places import insertion_place
from transpile.plan.graph import called_names
from transpile.plan.model import Plan
from transpile.plan.models.wrap_sites import binding_nodes
from transpile.records import dataclass

DISTRIBUTED = "paddle.io.DistributedBatchSampler"


#: Functions of Paddle that draw nothing from a loader.
KNOWN = ("paddle.io.",)


@dataclass(frozen=True, eq=False)
class Sharding:
    """How a loader's call is to be changed.

    Args:
        site: the call.
        way: ``dataset``, ``batches`` (its own batch sampler), ``sampler`` (a distributed one),
            ``stream``, or ``finished`` where the loader is changed once it is made.
        dataset: the data set's expression.
        sampler: the call of the script's DistributedBatchSampler.
        bound: where finished loaders are bound to a variable, with its text.
    """

    site: Site
    way: str
    dataset: cst.BaseExpression
    sampler: Opaque | None = None
    bound: tuple[tuple[Module, cst.CSTNode, str], ...] = ()


def sharding_of(plan: Plan, site: Site) -> Sharding | str:
    """How to shard a loader's batches, or why that cannot be."""
    loader = site.loader
    if not site.module.is_entry or is_indirect(plan, site):
        return finished(plan, site)
    if any(isinstance(each.value, Instance) for each in site.loaders):
        return "the loader's class is the script's own, which may deliver batches in its own way"
    if loader.wrapped:
        return f"its batches reach the training loop through {loader.wrapped}"
    if loader.event.arguments.unknown_because:
        return (
            f"the arguments of this loader are not known: {loader.event.arguments.unknown_because}"
        )
    dataset = loader.argument("dataset")
    if dataset is None or not isinstance(dataset.node, cst.BaseExpression):
        return "it is not clear which data set this loader draws from"
    for name in ("batch_size", "shuffle", "drop_last", "batch_sampler"):
        why = unclear(loader.argument(name), name)
        if why:
            return why
    size = loader.argument("batch_size")
    if size is not None and Constant(None) in size.values and given(site, "batch_sampler") is None:
        return (
            "the loader makes no batches (batch_size=None): it hands on what the data set gives, "
            "which may be one sample or a batch as a whole"
        )
    iterable = is_iterable(plan, dataset.values)
    if iterable is None:
        return "it is not known whether the data set is indexed or iterated"
    sampler = given(site, "batch_sampler")
    if iterable:
        if sampler is not None or constant_of(loader.argument("shuffle"), False) is True:
            return "a data set that is iterated has no order that could be sharded"
        if constant_of(loader.argument("drop_last"), False) is not False:
            return "a stream whose last batch is dropped would drop other samples"
        return Sharding(site, "stream", dataset.node)
    if sampler is not None:
        made = [value for value in sampler.values if DISTRIBUTED in called_names(value)]
        if not made and plan.options.batch_size == "per-device":
            return "with a batch for each process it is not known how its batch sampler goes on"
        if not made:
            return Sharding(site, "batches", dataset.node)
        value = made[0]
        if len(sampler.values) != 1 or not isinstance(value, Opaque):
            return "it has one batch sampler or another"
        why = unclear_sampler(value)
        if why:
            return why
        return Sharding(site, "sampler", dataset.node, value)
    if constant_of(loader.argument("batch_size"), 1) is None:
        return "the loader is told to make no batches (batch_size=None)"
    return Sharding(site, "dataset", dataset.node)


def finished(plan: Plan, site: Site) -> Sharding | str:
    """How to shard loaders that are made together with others, once they are made."""
    if plan.options.batch_size == "per-device":
        return "the call that makes this loader makes evaluation loaders, too"
    evaluating = {id(loader.value) for loader in plan.loaders if not loader.training}
    bound: list[tuple[Module, cst.CSTNode, str]] = []
    for loader in site.loaders:
        place = None
        for holder, text in variables(plan, loader):
            statements = {
                id(statement): statement
                for node in binding_nodes(plan, holder)
                if (statement := insertion_place(holder.module, node)) is not None
            }
            values = plan.facts.values_of(holder.node)
            if any(id(value) in evaluating for value in values):
                continue
            if len(statements) == 1 and isinstance(holder.node, (cst.Name, cst.Attribute)):
                place = (holder.module, next(iter(statements.values())), text)
                break
        if place is None:
            return (
                "the call that makes this loader makes evaluation loaders, too, and no variable "
                "holds this one alone"
            )
        if not any(place[1] is other[1] and place[2] == other[2] for other in bound):
            bound.append(place)
    return Sharding(site, "finished", site.node, bound=tuple(bound))


def unclear(argument: Argument | None, name: str) -> str:
    """Why an argument cannot be moved; empty where it can."""
    if argument is None:
        return ""
    if any(isinstance(value, Unknown) for value in argument.values):
        return f"it is not known what {name} is"
    if argument.mapping is not None or argument.maybe or argument.node is None:
        return f"{name} comes out of a dict that is unpacked into the call"
    if argument.keyword is None:
        return f"{name} is given by its position"
    return ""


def unclear_sampler(value: Opaque) -> str:
    """Why the script's own DistributedBatchSampler cannot be changed; empty where it can."""
    if not isinstance(value.node, cst.Call) or not value.module.is_entry:
        return "its DistributedBatchSampler is not made in the script's text"
    for name, position in (("num_replicas", 2), ("rank", 3)):
        argument = value.arguments.get(name, position)
        if argument is not None and argument.values != (Constant(None),):
            return f"its DistributedBatchSampler has a fixed {name}"
    dropping = value.arguments.get("drop_last", 5)
    if constant_of(dropping, False) is not False:
        return (
            "its DistributedBatchSampler drops the last batch, of which there are more with "
            "several processes"
        )
    size = value.arguments.get("batch_size", 1)
    if size is None or size.node is None or size.mapping is not None:
        return "the batch size of its DistributedBatchSampler is not in the text"
    return ""


def is_iterable(plan: Plan, values: Values) -> bool | None:
    """Whether a data set is iterated and not indexed; None where that differs by path."""
    found = {
        isinstance(value, Instance) and "paddle.io.IterableDataset" in value.cls.external_bases()
        for value in values
        if not (isinstance(value, Constant) and value.value is None)
    }
    return found.pop() if len(found) == 1 else None
